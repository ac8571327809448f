"""Output: strict JSON, literal cells, and no progress bar, but lines, off a terminal."""

import pytest

from restow.cli.support.output import print_json, progress, right, show, table


def test_nan_is_never_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        print_json({"r": float("nan")})
    assert capsys.readouterr().out == ""


def test_cells_are_literal_and_never_cut_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    shown = table(right("topic"))
    shown.add_row("[bold]" + "x" * 150)
    show(shown)
    assert "[bold]" + "x" * 150 in capsys.readouterr().out


def test_a_short_run_is_silent_off_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("packing", total=2) as advance:
        advance()
        advance()
    assert capsys.readouterr() == ("", "")


def test_a_long_run_says_how_far_it_is_once_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    now_s = iter(range(0, 1000, 25))
    with progress("simulating", total=1200, clock=lambda: float(next(now_s))) as advance:
        for _ in range(8):
            advance()
    assert capsys.readouterr() == ("", "restow: simulating: 3 of 1,200\nrestow: simulating: 6 of 1,200\n")
