"""Output: strict JSON, literal cells, and no progress bar off a terminal."""

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


def test_progress_is_silent_off_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("packing", total=2) as advance:
        advance()
        advance()
    assert capsys.readouterr() == ("", "")
