"""The monitor study: its measures by hand, its scenarios, its model of a log, and the targets it is there to show."""

import json
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest

from restow.errors import InvalidInput
from restow.monitor.meter import MeterSettings
from restow.study.monitor import Observation, Row, SpeedSeries, convergence_s, figures, mean, mean_error, noise
from restow.study.monitor_plot import picture
from restow.study.monitor_scenarios import SCENARIOS, ProducerScenario, ScenarioPhase, cut_to, replay
from restow.study.monitor_simulation import LogModel, simulated

TWO_SPEEDS = ProducerScenario(
    "step", (ScenarioPhase(50.0, 100.0, 100.0), ScenarioPhase(50.0, 200.0, 200.0)), record_bytes=10
)


def series(window: list[float], filtered: list[float]) -> SpeedSeries:
    """One row a second of TWO_SPEEDS, in a log that holds twice the records' bytes."""
    seconds = np.arange(100.0)
    written = np.where(seconds < 50, seconds * 200, 50 * 200 + (seconds - 50) * 400)
    rows = zip(seconds, written, written / 20, window, filtered, strict=True)
    return SpeedSeries.of(TWO_SPEEDS, [Observation(*row) for row in rows])


def test_the_true_speed_is_in_bytes_of_the_log() -> None:
    run = series([0.0] * 100, [0.0] * 100)
    assert run.true.tolist() == [200.0] * 50 + [400.0] * 50
    assert run.producer.tolist() == [200.0] * 51 + [400.0] * 49


def test_convergence_is_the_time_until_the_speed_is_right_and_stays_so() -> None:
    late = [200.0] * 70 + [390.0] * 30
    wavering = [200.0] * 52 + [400.0] * 5 + [300.0] + [381.0] * 42
    run = series(late, wavering)
    assert (convergence_s(run, run.window), convergence_s(run, run.filtered)) == (20, 8)


def test_what_never_gets_there_has_no_convergence_time() -> None:
    run = series([200.0] * 100, [200.0] * 50 + [379.0] * 50)
    assert (convergence_s(run, run.window), convergence_s(run, run.filtered)) == (None, None)


def test_the_mean_error_is_a_share_of_the_mean_speed() -> None:
    run = series([200.0] * 100, [230.0] * 50 + [370.0] * 50)
    assert mean_error(run, run.window) == pytest.approx(100 / 300)
    assert mean_error(run, run.filtered) == pytest.approx(30 / 300)


def test_noise_is_measured_where_the_speed_has_stood_still() -> None:
    restless = [200.0 + (10 if second % 2 else -10) for second in range(100)]
    run = series([999.0] * 32 + [220.0] * 18 + [7.0] * 32 + [440.0] * 18, restless)
    assert noise(run, run.window) == pytest.approx(0)
    assert noise(run, run.filtered) == pytest.approx(np.sqrt((0.05**2 + 0.025**2) / 2))


def test_over_seeds_the_slowest_convergence_and_the_mean_of_the_rest_are_told() -> None:
    rows = [Row("step", 30.0, 2.0, 0.2, 0.02, 0.1, 0.05), Row("step", 31.0, 4.0, 0.4, 0.04, 0.3, 0.15)]
    assert astuple(mean(rows)) == ("step", 31.0, 4.0, *(pytest.approx(value) for value in (0.3, 0.03, 0.2, 0.1)))
    assert mean([*rows, Row("step", None, 3.0, 0, 0, None, 0.1)]).window_convergence_s is None


@pytest.mark.parametrize("name", ["step", "ramp", "burst"])
def test_a_scenario_writes_as_fast_as_it_says(name: str) -> None:
    scenario = SCENARIOS[name]()
    writes_s = scenario.writes_s(np.random.default_rng(1))
    per_second = np.histogram(writes_s, np.arange(scenario.duration_s + 1))[0] * scenario.record_bytes
    assert (np.diff(writes_s) > -0.02).all()
    assert per_second == pytest.approx(scenario.speed_at(np.arange(scenario.duration_s) + 0.5), rel=0.03)


def test_the_random_scenario_is_the_published_producer() -> None:
    writes_s = SCENARIOS["random"]().writes_s(np.random.default_rng(1))
    pauses_s = np.diff(writes_s)
    assert 0.01 <= pauses_s.min() < 0.05
    assert 1.95 < pauses_s.max() <= 2.0
    assert len(writes_s) == pytest.approx(597, rel=0.05)
    assert SCENARIOS["random"]().record_bytes == 123


def test_a_scenario_is_cut_or_drawn_out() -> None:
    ramp = ProducerScenario("ramp", (ScenarioPhase(10, 5, 5), ScenarioPhase(20, 0, 100)))
    assert cut_to(ramp, 15).phases == (ScenarioPhase(10, 5, 5), ScenarioPhase(5, 0, 25))
    assert cut_to(ramp, 10).phases == (ScenarioPhase(10, 5, 5),)
    assert cut_to(ramp, 50).phases == (ScenarioPhase(10, 5, 5), ScenarioPhase(40, 0, 100))


def test_the_fastest_partition_of_a_trace_is_replayed(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    file.write_text(json.dumps([{"a": {"0": 1, "1": 9e4}}, {"a": {"0": 5e5}}, {"a": {"0": 1e5}}]))
    assert replay(file, 45).phases == (
        ScenarioPhase(45, 1, 1),
        ScenarioPhase(45, 5e5, 5e5),
        ScenarioPhase(45, 1e5, 1e5),
    )
    assert replay(file, 45).record_bytes == 400


def test_a_trace_in_which_nothing_was_written_cannot_be_replayed(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    file.write_text('[{"a": {"0": 0}}]')
    with pytest.raises(
        InvalidInput, match="nothing was written in it; a replay needs a partition with a speed above 0"
    ):
        replay(file, 60)


def test_the_model_of_a_log_deletes_old_segments_and_keeps_the_offsets_together() -> None:
    log = LogModel.of(np.arange(0, 100, 0.001), record_bytes=1000)
    looks = [log.look(float(second)) for second in range(100)]
    assert [look.end_offset for look in looks] == sorted(look.end_offset for look in looks)
    assert max(look.start_offset for look in looks) > 80_000
    per_record = {round((look.size_bytes or 0) / (look.end_offset - look.start_offset)) for look in looks[1:]}
    assert per_record == {1021}  # 5 records share a frame of 61 bytes, and each has 9 of its own


@pytest.mark.slow
def test_within_six_seconds_of_a_step_the_filter_is_within_5_per_cent() -> None:
    rows = [figures(simulated(SCENARIOS["step"](), seed, MeterSettings(), 1.0)) for seed in range(1, 6)]
    worst = mean(rows)
    assert worst.filtered_convergence_s is not None
    assert worst.window_convergence_s is not None
    assert worst.filtered_convergence_s <= 6
    assert 29 <= worst.window_convergence_s <= 32


@pytest.mark.slow
def test_with_the_random_producer_the_filter_is_no_noisier_than_the_window() -> None:
    for seed in range(1, 6):
        row = figures(simulated(SCENARIOS["random"](), seed, MeterSettings(), 1.0))
        assert row.filtered_noise is not None
        assert row.window_noise is not None
        assert row.filtered_noise <= row.window_noise
        assert row.window_convergence_s is None


def test_a_simulation_is_repeated_by_its_seed() -> None:
    first, second = (simulated(SCENARIOS["burst"](), 3, MeterSettings(), 1.0) for _ in range(2))
    assert first.filtered.tolist() == second.filtered.tolist()


def test_the_picture_shows_producer_window_and_filter_and_tells_the_figures() -> None:
    run = simulated(SCENARIOS["step"](), 1, MeterSettings(), 1.0)
    row = figures(run)
    figure = picture(run, row, "seed 1")
    [axes] = figure.get_axes()
    assert axes.get_legend() is not None
    assert sorted(axes.get_legend_handles_labels()[1]) == [
        "monitor, filtered",
        "monitor, window of 30 s",
        "producer, each 5 s",
        "producer, true speed",
    ]
    drawn = {line.get_label(): line.get_ydata() for line in axes.get_lines()}
    assert np.asarray(drawn["monitor, filtered"]) == pytest.approx(run.filtered / 1e6)
    assert np.asarray(drawn["monitor, window of 30 s"]) == pytest.approx(run.window / 1e6)
    assert axes.get_ylabel() == "speed in MB/s of the log"
    assert f"within 5 % after {row.window_convergence_s:.1f} s → {row.filtered_convergence_s:.1f} s" in (
        figure.get_suptitle()
    )
