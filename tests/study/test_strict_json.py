"""Strict JSON: every refusal names the file, the place and what would be right."""

from pathlib import Path

import pytest

from restow.errors import InvalidInput
from restow.study.strict_json import Element, parse, read

FILE = Path("speeds.json")


def element(text: str) -> Element:
    return parse(FILE, text.encode())


def refusal_of(text: str) -> str:
    with pytest.raises(InvalidInput) as refused:
        element(text)
    return str(refused.value)


def test_parts_know_their_place() -> None:
    whole = element('{"speeds": [{"orders": 1.5}]}')
    [(_, speeds)] = whole.entries("an object")
    [first] = speeds.elements("an array")
    assert dict(first.entries("an object")) == {"orders": Element(FILE, "speeds[0].orders", 1.5)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1 "b": 2}', "speeds.json: line 1, column 9 is not JSON (expecting ',' delimiter)"),
        ("", "speeds.json: line 1, column 1 is not JSON"),
        ('{"a": {"7": 1, "8": 2, "7": 1}}', "speeds.json: a.7 is given twice; it must be given once"),
        ('{"a": 1, "a": 2}', "speeds.json: a is given twice; it must be given once"),
        ('[{}, {"a": {"b": 1, "b": 1}}]', "speeds.json: [1].a.b is given twice; it must be given once"),
        ("9" * 5000, "speeds.json: holds a number that is too long, or is nested too deeply, to be read"),
        ("[" * 100_000, "speeds.json: holds a number that is too long, or is nested too deeply, to be read"),
    ],
)
def test_a_file_that_cannot_be_read_as_it_stands_is_refused(text: str, message: str) -> None:
    assert refusal_of(text).startswith(message)


def test_what_is_not_utf_8_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"^speeds\.json: byte 1 is not UTF-8; the file must be JSON in UTF-8$"):
        parse(FILE, b'"\xff"')


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "nothing.json"
    with pytest.raises(InvalidInput) as refused:
        read(missing)
    assert str(refused.value) == f"{missing}: can't be read (no such file or directory)"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as refused:
        read(tmp_path)
    assert str(refused.value) == f"{tmp_path}: can't be read (is a directory)"


@pytest.mark.parametrize(
    "text", ["NaN", "Infinity", "-Infinity", "1e999", "-1", "true", "null", '"1"', "[]", "1" * 400]
)
def test_what_is_no_number_of_0_or_more_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^speeds\.json: the whole is .*; it must be a number, 0 or more$"):
        element(text).number("a number, 0 or more")


def test_a_number_must_be_above_its_bound() -> None:
    assert element("0.5").number("above 0", above=0) == 0.5
    with pytest.raises(InvalidInput):
        element("0").number("above 0", above=0)


@pytest.mark.parametrize(("text", "number"), [("3", 3), ("3.0", 3), ("0", 0)])
def test_a_whole_number_is_read(text: str, number: int) -> None:
    assert element(text).whole_number("a whole number") == number


def test_a_fraction_is_no_whole_number() -> None:
    with pytest.raises(InvalidInput, match=r"the whole is 2\.5; it must be a whole number"):
        element("2.5").whole_number("a whole number")


def test_an_unknown_key_is_answered_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput) as refused:
        element('{"margins": 1}').fields("an object", known=("worth", "speeds"))
    assert str(refused.value) == "speeds.json: margins is no known key; known are worth, speeds"


def test_a_missing_key_is_named() -> None:
    with pytest.raises(InvalidInput) as refused:
        element("{}").fields("an object", known=("worth",), required=("worth",))
    assert str(refused.value) == "speeds.json: there is no 'worth'; it must be given"


def test_the_wrong_kind_of_value_is_shown_in_short() -> None:
    with pytest.raises(InvalidInput) as refused:
        list(element(f"[{'1, ' * 100}1]").entries("an object of topics"))
    shown = "[" + "1, " * 12 + "1,…"
    assert str(refused.value) == f"speeds.json: the whole is {shown}; it must be an object of topics"
    with pytest.raises(InvalidInput, match=r'the whole is "x"; it must be an array'):
        list(element('"x"').elements("an array"))
    with pytest.raises(InvalidInput, match="the whole is 1; it must be a name"):
        element("1").text("a name")
