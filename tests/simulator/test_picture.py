"""The picture of a simulated run: it agrees with the simulated world, and a forecast from it with the controller."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.controller_driver import AT_ONCE

from restow.cli import main
from restow.controller import reassign
from restow.controller.state import State
from restow.model import SortedMapping, TopicPartition
from restow.packing import PackingPlan
from restow.picture.chronicle import Chronicle
from restow.picture.drawing import Moment, draw
from restow.picture.forecast import forecast
from restow.picture.picture import Lag
from restow.protocol.measurement import Measurement, PartitionSpeed
from restow.simulator.scenario import Level, scenario
from restow.simulator.world import World, run


@pytest.mark.parametrize("seed", [3, 7])
def test_the_picture_at_the_end_agrees_with_the_world(seed: int) -> None:
    chosen = scenario(seed, hours=0.2, faults=Level.SOME)
    world = World(chosen, picture_at_s=chosen.duration_s)
    world.play()
    assert world.picture is not None
    assert world.picture.age_s == 0
    picture, end_s = world.picture.picture, chosen.duration_s
    alive = {process.number: process for process in world.processes if process.is_alive}
    assert set(picture.consumers) == set(world.platform.pods) == set(alive)
    assert {partition for partition, status in picture.partitions.items()} == set(world.consumed())
    read = {partition: number for number, process in alive.items() for partition in process.positions}
    assert {partition: status.consumer for partition, status in picture.partitions.items()} == read
    for partition, status in picture.partitions.items():
        row = world.data.index[partition]
        position = alive[read[partition]].positions[partition]
        behind = world.data.end_offset(row, end_s) - position
        assert status.lag is not None
        reported_ago = status.lag.records - behind  # the consumer has stored more since its last report
        assert -world.data.speeds_now[row] / 1000 * 10 <= reported_ago <= world.data.speeds_now[row] / 1000 * 60
        assert status.bytes_per_s == pytest.approx(world.data.speeds_now[row], rel=0.25)  # of some seconds ago


def test_observing_a_run_changes_nothing_in_it() -> None:
    chosen = scenario(5, hours=0.1, faults=Level.MANY)
    plain: list[str] = []
    observed: list[str] = []
    run(chosen, plain.append)
    run(chosen, observed.append, picture_at_s=200.0)
    assert observed == plain


def test_a_picture_is_written_at_a_time_and_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "group.json"
    common = ["simulate", "--seed", "7", "--hours", "0.1"]
    assert main([*common, "--picture", str(file), "--at", "300"]) == 0
    assert f"`restow status --from {file}`" in capsys.readouterr().err
    assert main(["status", "--from", str(file)]) == 0
    screen = capsys.readouterr().out
    assert screen.startswith("group simulated  ")
    assert "last decision, " in screen
    assert main(["status", "--json", "--from", str(file)]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(file.read_text())
    assert json.loads(file.read_text())["overview"]["time"] == "2026-03-01T00:05:00.000Z"
    assert main(["explain", "--last", "--from", str(file)]) == 0
    assert "because" in capsys.readouterr().out
    assert main([*common, "--picture", str(file), "--at", "3000"]) == 2
    assert "--at is 3000; the run ends after 360 s" in capsys.readouterr().err


def test_an_old_picture_in_a_file_is_an_outage_and_a_wrong_file_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "group.json"
    assert main(["simulate", "--seed", "7", "--hours", "0.05", "--picture", str(file)]) == 0
    old = json.loads(file.read_text()) | {"age_s": 90.0}
    file.write_text(json.dumps(old))
    assert main(["status", "--from", str(file)]) == 1
    assert "OUTAGE: no picture for 90 s" in capsys.readouterr().out
    for text, words in (
        ("[]", "a picture is a JSON object"),
        ("{", "is no picture as `restow status --json` prints it"),
        (json.dumps(old | {"age_s": "old"}), "age_s is 'old'"),
        (json.dumps(old | {"overview": {}}), "overview"),
    ):
        file.write_text(text)
        assert main(["status", "--from", str(file)]) == 2
        assert words in capsys.readouterr().err
    assert main(["status", "--from", str(tmp_path / "none.json")]) == 2
    assert "No such file" in capsys.readouterr().err


def as_measurement(event: object) -> Measurement | None:
    speeds, records = getattr(event, "speeds", {}), getattr(event, "records_per_s", {})
    found = {
        partition: PartitionSpeed(0.0, speed, records.get(partition, 0.0), 0, None, False)
        for partition, speed in speeds.items()
    }
    return Measurement(event.time, 30.0, SortedMapping(found)) if event is not None else None  # type: ignore[attr-defined]


def lags_of(state: State) -> dict[TopicPartition, Lag]:
    reports = [view.report for view in state.consumers.values() if view.report is not None]
    return {partition: Lag(records, None) for each in reports for partition, records in each.lag_records.items()}


def test_a_forecast_from_the_picture_is_the_controllers_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the picture has all that the decision depends on: no command is unanswered and no consumer is late. A
    pause is left out: the forecast is what would be decided without it. So are the rules that close consumers late and
    open one ahead, which need more than a moment; and what follows a crash, which is over in one."""
    decision, compared = reassign.decision, []

    def compare(state: State) -> tuple[PackingPlan, str | None]:
        plan, postponed = decision(state)
        views = state.consumers.values()
        is_settled = not any(view.sent or view.is_late or view.claims or view.crashed_s for view in views)
        is_settled = is_settled and not state.suspects
        if is_settled and not (state.is_scaling_frozen or state.only_recovers or state.roll_halted):
            picture = draw(state, Chronicle(""), Moment("simulated", "controller", "", lags_of(state)))
            found = forecast(picture, as_measurement(state.measured), as_measurement(state.packed))
            compared.append(found.assignment == plan.assignment)
        return plan, postponed

    monkeypatch.setattr(reassign, "decision", compare)
    monkeypatch.setattr("restow.picture.forecast.decide", lambda state: decision(state)[0])
    for seed in (1, 2):
        simulated = scenario(seed, hours=0.3, faults=Level.SOME)
        others = {"predict_at_most": 0.0, "park_after_s": None, "most_moves_per_h": None}
        at_once = replace(simulated.rules.controller, **{**AT_ONCE, **others})
        run(replace(simulated, rules=replace(simulated.rules, controller=at_once), kept_s=None))
    assert len(compared) > 20
    assert all(compared)
