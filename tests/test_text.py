"""Numbers and names in sentences."""

import pytest

from restow.text import apart, counted, listed, percent, sized, spanned


def test_a_noun_follows_its_number() -> None:
    assert (counted(1, "record"), counted(2000, "record")) == ("1 record", "2,000 records")


@pytest.mark.parametrize(
    ("names", "words"),
    [("a", "a"), ("ab", "a and b"), ("abc", "a, b and c"), ("abcd", "4 partitions")],
)
def test_a_few_things_are_named_and_many_are_counted(names: str, words: str) -> None:
    assert listed(names) == words


@pytest.mark.parametrize(
    ("share", "said"),
    [(0, "0 %"), (0.0003, "0.03 %"), (0.12, "12 %"), (0.1253, "12.5 %"), (1.065, "106.5 %"), (12, "1200 %")],
)
def test_shares_are_said_as_a_person_would(share: float, said: str) -> None:
    assert percent(share) == said


@pytest.mark.parametrize(
    ("size_bytes", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1500, "1.5 kB"),
        (32e6, "32.0 MB"),
        (999_990, "1.0 MB"),
        (1.2e9, "1.2 GB"),
        (5e15, "5,000.0 TB"),
    ],
)
def test_sizes_have_the_unit_a_reader_expects(size_bytes: float, words: str) -> None:
    assert sized(size_bytes) == words


@pytest.mark.parametrize(
    ("share", "other", "texts"),
    [
        (0.9, 0.5, ("90 %", "50 %")),
        (0.8744, 0.8736, ("87.44 %", "87.36 %")),
        (0.874, 0.873999, ("87.4000 %", "87.3999 %")),
    ],
)
def test_two_shares_have_the_digits_that_show_their_difference(
    share: float, other: float, texts: tuple[str, str]
) -> None:
    assert apart(share, other) == texts


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-1, "0.0 s"),
        (0.42, "0.4 s"),
        (12.3, "12 s"),
        (185, "3 min 5 s"),
        (7800, "2 h 10 min"),
        (6 * 86400 + 23 * 3600, "6 d 23 h"),
    ],
)
def test_spans_have_the_units_a_reader_expects(seconds: float, words: str) -> None:
    assert spanned(seconds) == words
