"""How often a measurement is published."""

from restow.monitor.pace import publish_every_s


def test_a_group_is_measured_as_often_as_asked_up_to_50000_partitions() -> None:
    assert [publish_every_s(1.0, partitions) for partitions in (0, 100, 50_000)] == [1.0, 1.0, 1.0]
    assert publish_every_s(5.0, 100_000) == 5.0


def test_above_that_each_50000_partitions_have_a_second() -> None:
    assert [publish_every_s(1.0, partitions) for partitions in (75_000, 100_000, 200_000)] == [1.5, 2.0, 4.0]
