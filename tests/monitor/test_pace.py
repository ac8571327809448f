"""How often the cluster is sampled, and a measurement published."""

from itertools import pairwise

import numpy as np
import pytest

from restow.model import TopicPartition
from restow.monitor.meter import Meter, MeterReading
from restow.monitor.pace import is_news, publish_every_s, sample_after_s
from restow.monitor.sample import PartitionSample, Sample

QUICK_S = 0.01


def test_a_group_is_measured_as_often_as_asked_up_to_50000_partitions() -> None:
    assert [publish_every_s(1.0, partitions) for partitions in (0, 100, 50_000)] == [1.0, 1.0, 1.0]
    assert publish_every_s(5.0, 100_000) == 5.0


def test_above_that_each_50000_partitions_have_a_second() -> None:
    assert [publish_every_s(1.0, partitions) for partitions in (75_000, 100_000, 200_000)] == [1.5, 2.0, 4.0]


class Sampled:
    """A group that is sampled as its pace says. Each partition's speed steps at one moment."""

    def __init__(self, before: list[float], after: list[float], at_s: float) -> None:
        self._before, self._after, self._at_s = np.array(before), np.array(after), at_s
        self._meter = Meter()
        self.samples_s: list[float] = []
        self.readings: list[MeterReading] = []

    def until(self, end_s: float, took_s: float = QUICK_S) -> "Sampled":
        time_s = 0.0
        while time_s < end_s:
            written = self._before * min(time_s, self._at_s) + self._after * max(0.0, time_s - self._at_s)
            looks = {
                TopicPartition("orders", number): PartitionSample(end_offset=int(size), size_bytes=int(size))
                for number, size in enumerate(written)
            }
            reading = self._meter.take(Sample.of(time_s, looks))
            self.samples_s.append(time_s)
            self.readings += [] if reading is None else [reading]
            time_s += sample_after_s(1.0, took_s, reading)
        return self

    @property
    def believed_s(self) -> float:
        """When the filtered speed of the first partition was within 5 % of the new one."""
        return next(
            time_s
            for time_s, reading in zip(self.samples_s[1:], self.readings, strict=True)
            if reading.filtered_bytes_per_s[0] == pytest.approx(self._after[0], rel=0.05)
        )


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 0.9, 0.98])
@pytest.mark.parametrize("after", [300e3, 30e3])
def test_a_step_is_sampled_sooner_until_it_is_believed(share: float, after: float) -> None:
    group = Sampled([100e3], [after], at_s=41 - share).until(60.0)
    gaps_s = {round(later - earlier, 3) for earlier, later in pairwise(group.samples_s)}
    assert gaps_s == {0.5, 1.0}
    assert group.believed_s - (41 - share) <= 2.5  # with a sample a second, 3.0
    assert [round(later - earlier, 3) for earlier, later in pairwise(group.samples_s)][-10:] == [1.0] * 10


def test_a_steady_group_is_sampled_as_often_as_asked() -> None:
    group = Sampled([100e3, 5e3], [100e3, 5e3], at_s=0.0).until(60.0)
    assert group.samples_s == [float(second) for second in range(60)]


def test_a_partition_that_hardly_counts_is_not_sampled_sooner() -> None:
    slow, fast = 1e3, 100e3
    assert len(Sampled([fast, slow], [fast, 1.9 * slow], at_s=40.5).until(60.0).samples_s) == 60
    assert len(Sampled([fast, slow], [fast, 4 * slow], at_s=40.5).until(60.0).samples_s) > 60


def test_samples_that_take_long_come_no_sooner_than_they_can() -> None:
    step = Sampled([100e3], [300e3], at_s=40.5)
    slow = Sampled([100e3], [300e3], at_s=40.5).until(60.0, took_s=0.3)
    assert len(slow.samples_s) == 60
    assert 0.8 in {round(later - earlier, 3) for earlier, later in pairwise(step.until(60.0, took_s=0.2).samples_s)}


def test_a_change_is_news_when_it_is_believed() -> None:
    group = Sampled([100e3], [300e3], at_s=40.5).until(60.0)
    news_s = [
        time_s for time_s, reading in zip(group.samples_s[1:], group.readings, strict=True) if is_news(1.0, reading)
    ]
    assert group.believed_s in news_s
    assert news_s[-1] - news_s[0] < 2.0


def test_readers_of_a_large_group_get_no_news_between_two_measurements() -> None:
    partitions = 50_001
    news = np.ones(partitions, np.bool_)
    columns = np.ones(partitions), np.ones(partitions), np.ones(partitions)
    numbers = tuple(TopicPartition("orders", number) for number in range(partitions))
    whole = np.zeros(partitions, np.int64)
    reading = MeterReading(30.0, numbers, *columns, whole, whole, ~news, columns[0], stands_out=news, changed=news)
    assert not is_news(1.0, reading)
    assert is_news(5.0, reading)
