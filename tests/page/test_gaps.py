"""Times without pictures: which they are, and how much of them is read."""

from restow.page.gaps import GAP_S, MOST_S, Gap, Gaps


def gaps(*heard_s: float, since_s: float = 0.0) -> Gaps:
    found = Gaps(since_s)
    for at_s in heard_s:
        found.heard(at_s)
    return found


def test_a_gap_is_longer_than_a_restart_and_the_newest_comes_first() -> None:
    found = gaps(GAP_S, 100.0, 300.0, 310.0, 300.0)
    assert list(found.to_read(900.0, partitions=10)) == [Gap(310.0, 900.0), Gap(100.0, 300.0)]


def test_without_pictures_the_whole_day_is_a_gap_and_its_newest_hours_are_read() -> None:
    assert list(gaps().to_read(86_400.0, partitions=100)) == [Gap(86_400.0 - MOST_S, 86_400.0)]
    assert list(gaps().to_read(86_400.0, partitions=400)) == [Gap(86_400.0 - MOST_S / 4, 86_400.0)]


def test_older_gaps_are_read_while_there_is_time_left() -> None:
    found = gaps(1000.0, 1010.0, 1000.0 + MOST_S, since_s=900.0)
    assert list(found.to_read(1000.0 + MOST_S, partitions=1)) == [
        Gap(1010.0, 1000.0 + MOST_S),
        Gap(990.0, 1000.0),
    ]
