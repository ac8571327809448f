"""What the subcommands share: option values are read or refused in words, and output is taken literally."""

import argparse
from collections.abc import Callable

import pytest

from restow.cli.support.common import list_of, number, one_of, print_json, progress, right, show, table, whole_number


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (whole_number(1), "12", 12),
        (number(0), "0.5", 0.5),
        (number(above=0), "1e-3", 0.001),
        (one_of(["mwf", "bfd"], "packer"), "bfd", "bfd"),
        (list_of(whole_number(0)), "5, 10,0", (5, 10, 0)),
        (list_of(number(0)), "1,1.0,3", (1.0, 3.0)),
    ],
)
def test_an_option_is_read(read: Callable[[str], object], text: str, value: object) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "text", "complaint"),
    [
        (whole_number(1), "0", "'0' can't be used; it must be a whole number, 1 or more"),
        (whole_number(1), "1.5", "'1.5' can't be used; it must be a whole number, 1 or more"),
        (number(), "fast", "'fast' can't be used; it must be a finite number"),
        (number(0), "-1", "'-1' can't be used; it must be a finite number, 0 or more"),
        (number(0), "inf", "'inf' can't be used; it must be a finite number, 0 or more"),
        (number(above=0), "0", "'0' can't be used; it must be a finite number, above 0"),
        (one_of(["mwf", "bfd"], "packer"), "x", "there is no packer 'x'; known are mwf, bfd"),
        (list_of(whole_number(0)), "5,,10", "'' can't be used; it must be a whole number, 0 or more"),
    ],
)
def test_a_wrong_value_is_refused_with_what_would_be_right(
    read: Callable[[str], object], text: str, complaint: str
) -> None:
    with pytest.raises(argparse.ArgumentTypeError) as refused:
        read(text)
    assert str(refused.value) == complaint


def test_a_number_that_json_has_no_word_for_is_never_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        print_json({"r": float("nan")})
    assert capsys.readouterr().out == ""


def test_cells_are_taken_literally_and_never_cut_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    shown = table(right("topic"))
    shown.add_row("[bold]" + "x" * 150)
    show(shown)
    assert "[bold]" + "x" * 150 in capsys.readouterr().out


def test_progress_is_silent_off_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("packing", total=2) as advance:
        advance()
        advance()
    assert capsys.readouterr() == ("", "")
