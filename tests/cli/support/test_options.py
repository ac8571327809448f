"""An option's value is read, or refused with what would be right."""

import argparse
from collections.abc import Callable

import pytest

from restow.cli.support.options import list_of, number, one_of, whole_number


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
