"""The filter: early where the speed really changed, calm where it did not."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from restow.model import TopicPartition
from restow.monitor.meter import Meter, MeterSettings
from restow.monitor.sample import Sample

Speeds = NDArray[np.float64]


def driven(
    bytes_of_second: Speeds, settings: MeterSettings | None = None, every_s: float = 1.0
) -> tuple[Speeds, Speeds]:
    """Raw and filtered speeds, one row a sample, from the bytes written before each (rows) to each partition."""
    partitions = tuple(TopicPartition("orders", number) for number in range(bytes_of_second.shape[1]))
    sizes = np.vstack([np.zeros(len(partitions)), bytes_of_second.cumsum(axis=0)]).astype(np.int64)
    constant = np.zeros(len(partitions), np.int64)
    meter = Meter(settings)
    found = [
        meter.take(Sample(every_s * second, partitions, {}, constant, constant, size, size, constant > 1))
        for second, size in enumerate(sizes)
    ]
    kept = [one for one in found if one is not None]
    return np.array([one.bytes_per_s for one in kept]), np.array([one.filtered_bytes_per_s for one in kept])


def column(*parts: tuple[int, float]) -> Speeds:
    """So many seconds at so many bytes/s each."""
    return np.concatenate([np.full(seconds, speed) for seconds, speed in parts])[:, None]


@pytest.mark.parametrize("after", [0.0, 10e3, 50e3, 90e3, 110e3, 200e3, 5e6])
def test_a_step_is_followed_in_three_seconds_while_the_window_takes_thirty(after: float) -> None:
    raw, filtered = driven(column((60, 100e3), (40, after)))
    assert filtered[62:, 0] == pytest.approx(np.full(38, after), rel=0.001, abs=1e-6)
    assert raw[60 + 28, 0] != pytest.approx(after, rel=0.001)
    assert raw[60 + 29, 0] == pytest.approx(after)


def test_the_interval_in_which_the_speed_changes_spoils_nothing() -> None:
    for share in (0.1, 0.5, 0.9):
        _, filtered = driven(column((60, 100e3), (1, 100e3 * share + 400e3 * (1 - share)), (40, 400e3)))
        assert filtered[64:, 0] == pytest.approx(np.full(37, 400e3), rel=0.01)


def test_a_step_soon_after_the_start_is_followed_as_well() -> None:
    _, filtered = driven(column((5, 100e3), (30, 300e3)))
    assert filtered[10:, 0] == pytest.approx(np.full(25, 300e3), rel=0.01)


def test_steps_close_to_each_other_are_all_followed() -> None:
    levels = (100e3, 300e3, 50e3, 500e3)
    _, filtered = driven(column(*((12, level) for level in levels)))
    for number, level in enumerate(levels):
        assert filtered[12 * number + 6, 0] == pytest.approx(level, rel=0.05)


def test_a_burst_of_one_sample_raises_the_filtered_speed_no_more_than_the_window() -> None:
    raw, filtered = driven(column((60, 100e3), (1, 1e6), (60, 100e3)))
    assert (filtered <= raw + 1e-6).all()
    assert filtered[-30:, 0] == pytest.approx(np.full(30, 100e3))


def test_a_burst_of_one_sample_is_no_change_however_many_samples_a_window_has() -> None:
    raw, filtered = driven(column((120, 50e3), (1, 5e6), (120, 50e3)), every_s=0.5)
    assert (filtered <= raw + 1e-6).all()


def test_on_a_ramp_it_is_less_late_than_the_window() -> None:
    speeds = column((60, 100e3), *((1, 100e3 + 8e3 * second) for second in range(120)))
    raw, filtered = driven(speeds)
    late = slice(90, 180)
    assert np.abs(filtered - speeds)[late].mean() < 0.6 * np.abs(raw - speeds)[late].mean()


def test_a_producer_that_flushes_now_and_then_keeps_its_mean() -> None:
    flushes = np.tile(column((9, 0.0), (1, 1e6)), (20, 1))
    raw, filtered = driven(flushes)
    assert filtered[60:, 0] == pytest.approx(raw[60:, 0], rel=0.05)
    assert raw[60:, 0] == pytest.approx(np.full(140, 1e5))


def published_producer(seconds: int, partitions: int) -> Speeds:
    random = np.random.default_rng(11)
    writes_s = random.uniform(0.01, 2.0, (seconds * 2, partitions)).cumsum(axis=0)
    edges = np.arange(seconds + 1)
    return 123.0 * np.stack([np.histogram(each, edges)[0] for each in writes_s.T], axis=1)


@pytest.mark.slow
def test_with_the_published_random_producer_it_is_calmer_than_the_window() -> None:
    raw, filtered = driven(published_producer(seconds=400, partitions=200))
    noise_of_window, noise = raw[32:].std(axis=0), filtered[32:].std(axis=0)
    assert noise.mean() < 0.92 * noise_of_window.mean()
    assert (noise > noise_of_window).mean() <= 0.01


def test_a_noisy_step_is_followed_by_nearly_all_within_six_seconds() -> None:
    random = np.random.default_rng(5)
    steps = np.repeat(column((60, 100e3), (40, 200e3)), 200, axis=1) * random.normal(1, 0.03, (100, 200))
    _, filtered = driven(steps)
    assert (np.abs(filtered[65] - 200e3) <= 0.05 * 200e3).mean() >= 0.99


def test_a_step_down_is_not_spoilt_by_the_interval_in_which_it_happened_though_the_old_noise_hides_it() -> None:
    random = np.random.default_rng(5)
    share = random.uniform(0, 1, 400)
    steps = np.repeat(column((60, 100e3), (1, 0.0), (40, 10e3)), 400, axis=1)
    steps[60] = 100e3 * share + 10e3 * (1 - share)
    _, filtered = driven(steps * random.normal(1, 0.03, steps.shape))
    assert (np.abs(filtered[65] - 10e3) <= 0.05 * 10e3).mean() >= 0.985


def test_partitions_do_not_disturb_each_other() -> None:
    steps = column((60, 100e3), (40, 300e3))
    together = np.hstack([steps, published_producer(100, 3), np.zeros((100, 1)), steps[::-1]])
    _, filtered = driven(together)
    for number in range(together.shape[1]):
        assert filtered[:, number].tolist() == driven(together[:, [number]])[1][:, 0].tolist()


def test_without_smoothing_and_with_an_endless_threshold_it_is_the_window() -> None:
    speeds = published_producer(100, 5)
    raw, filtered = driven(speeds, MeterSettings(threshold=1e9, smoothing_s=0))
    assert filtered == pytest.approx(raw)


def test_smoothing_takes_its_time_constant() -> None:
    alternating = np.tile(column((1, 0.0), (1, 200e3)), (30, 1))
    alternating[40:] += 2e3  # a change far below the noise moves the mean of the window slowly, the filter more slowly
    raw, filtered = driven(alternating, MeterSettings(smoothing_s=6))
    expected = filtered[39, 0]
    for second in range(40, 60):
        expected += (1 - math.exp(-1 / 6)) * (raw[second, 0] - expected)
        assert filtered[second, 0] == pytest.approx(expected)
