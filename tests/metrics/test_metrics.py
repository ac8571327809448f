"""What each role tells Prometheus: the values, their names, and how many series there are at most."""

import re
import subprocess
from dataclasses import replace
from itertools import chain

import pytest
from prometheus_client import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics
from prometheus_client.parser import text_string_to_metric_families
from tests.support.controller_driver import A0, A1
from tests.support.paths import ROOT
from tests.support.picture_driver import PictureDriver, pair
from tests.support.prometheus import programs

from restow.consumer.events import CycleEnded, RefusedPartitions
from restow.controller.learned import TopicCost
from restow.controller.machine import step
from restow.controller.transitions import Phase, Stage
from restow.health import Health
from restow.metrics import reference
from restow.metrics.board import Board
from restow.metrics.collector import BoardCollector, registry_of
from restow.metrics.cycles import ConsumerNow, CycleCounts
from restow.metrics.families import FAMILIES, ROLES, Family, Role
from restow.metrics.follow import ControllerCounts
from restow.metrics.group import GroupNow, flag_labels, standby, wanted
from restow.metrics.measurements import MonitorCounts
from restow.metrics.page import PageNow
from restow.metrics.series import GroupSize, most_series
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.picture.picture import ConsumerStatus, Lag, LeftOutRecords, PartitionStatus, Picture, RaisedFlag
from restow.protocol.measurement import Measurement, PartitionSpeed
from restow.protocol.messages.reports import Gap

PROCESS_SERIES = 10
"""Of `process_…`, at most."""


def controller_board(driver: PictureDriver, lags: dict[TopicPartition, Lag] | None = None) -> Board:
    board = Board("controller", "shop")
    ControllerCounts(board.tallies)
    board.publish(GroupNow(driver.picture(lags), wanted(driver.state), 0.0, 0.0, per_partition_speeds=True).samples)
    return board


def consumer_board() -> Board:
    board = Board("consumer", "shop", 3)
    counts = CycleCounts(board.tallies)
    counts.ended(CycleEnded(SortedMapping(), SortedMapping(), took_s=1.0))
    counts.ended(
        CycleEnded(
            SortedMapping(),
            SortedMapping(),
            records=10,
            bytes=1000,
            took_s=0.7,
            dropped=(RefusedPartitions((A0, A1), "replaced", "…"), RefusedPartitions((A0,), "gap", "…")),
            gaps=(Gap(A0, 5, 9),),
            rows=8,
            steps_s=SortedMapping({"write": 0.6, "commit": 0.1}),
            commits_s=(0.04, 0.06),
        )
    )
    board.publish(ConsumerNow(partitions=2, failing=1).samples)
    return board


def monitor_board() -> Board:
    board = Board("monitor", "shop")
    counts = MonitorCounts(board.tallies)
    counts.failed()
    counts.sampled(None, 1.0, 0.3)
    speeds = {A0: PartitionSpeed(40.0, 40.0, 1.0, 0, 0, estimated=False)}
    counts.sampled(Measurement("2026-03-01T12:00:00Z", 1.0, SortedMapping(speeds)), 2.0, 0.02)
    board.publish(counts.newest.samples)
    return board


def page_board() -> Board:
    board = Board("page", "shop")
    board.publish(PageNow(streams=2, drawn_s=0.0).samples)
    return board


BOARDS: dict[Role, Board] = {
    "controller": controller_board(pair(), {A0: Lag(7, 2.5), A1: Lag(3, None)}),
    "consumer": consumer_board(),
    "monitor": monitor_board(),
    "page": page_board(),
}


def values(board: Board) -> dict[str, float]:
    """By name and labels, without `group` and the labels of the process."""
    found = {}
    for metric in BoardCollector(board, Health()).collect():
        for sample in metric.samples:
            labels = {key: value for key, value in sample.labels.items() if key != "group"}
            inside = ",".join(f"{key}={value}" for key, value in labels.items())
            found[f"{sample.name}{{{inside}}}" if inside else sample.name] = sample.value
    return found


def test_the_controller_tells_the_group_s_picture() -> None:
    found = values(BOARDS["controller"])
    assert found["restow_controller_in_charge"] == 1
    assert {stage: found[f"restow_controller_stage{{stage={stage}}}"] for stage in Stage} == {
        **dict.fromkeys(Stage, 0.0),
        Stage.SENTINEL: 1.0,
    }
    assert found["restow_consumers{phase=ready}"] == 2
    assert found["restow_consumers{phase=lost}"] == 0
    assert found["restow_consumers_wanted"] == 2
    assert found["restow_consumer_load_bytes_per_second{consumer=1}"] == 80
    assert found["restow_consumer_capacity_bytes_per_second{consumer=2}"] == 100
    assert found["restow_topic_speed_bytes_per_second{topic=a}"] == 160
    assert found["restow_topic_partitions{topic=a}"] == 4
    assert found["restow_topic_unread_partitions{topic=a}"] == 0
    assert found["restow_partition_speed_bytes_per_second{topic=a,partition=3}"] == 40
    assert found["restow_flags"] == 0
    assert found["restow_paused"] == 0


def test_lag_has_the_names_that_dashboards_know_and_no_guess() -> None:
    text = generate_latest(registry_of(BOARDS["controller"], Health())).decode()
    assert 'kafka_consumergroup_group_lag{group="shop",partition="0",topic="a"} 7.0' in text
    assert 'kafka_consumergroup_group_lag_seconds{group="shop",partition="0",topic="a"} 2.5' in text
    assert 'kafka_consumergroup_group_lag{group="shop",partition="1",topic="a"} 3.0' in text
    assert 'kafka_consumergroup_group_lag_seconds{group="shop",partition="1"' not in text


def test_a_standby_tells_nothing_of_the_group() -> None:
    board = Board("controller", "shop")
    board.publish(standby)
    names = {name.partition("{")[0] for name in values(board)}
    assert names == {"restow_build_info", "restow_loop_age_seconds", "restow_ready", "restow_controller_in_charge"}


def test_decisions_moves_and_pauses_are_counted() -> None:
    """Consumer 3 is created for a-1, which consumer 1 stops and consumer 3 starts a second later."""
    driver, board = Followed(), Board("controller", "shop")
    driver.counts = ControllerCounts(board.tallies)
    driver.takes_over({1: (A0, A1), 2: (TopicPartition("a", 2), TopicPartition("a", 3))})
    driver.measures(a_0=40, a_1=40, a_2=40, a_3=40)
    driver.ticks(5)
    driver.measures(a_0=60, a_1=40, a_2=40, a_3=40)
    driver.is_ready(3)
    driver.answers(1)
    driver.ticks(1)
    driver.answers(3)
    board.publish()
    found = values(board)
    assert found["restow_decisions_total{cause=overload}"] == 1
    assert found["restow_decisions_total{cause=gone}"] == 0
    assert found["restow_pause_seconds_count"] == 1
    assert found["restow_pause_seconds_sum"] == pytest.approx(1.0)
    assert found["restow_pause_seconds_bucket{le=0.5}"] == 0
    assert found["restow_pause_seconds_bucket{le=1.0}"] == 1
    assert found["restow_pause_seconds_bucket{le=+Inf}"] == 1


class Followed(PictureDriver):
    counts: ControllerCounts | None = None

    def happens(self, *events):  # type: ignore[no-untyped-def]
        for event in events:
            _, effects = step(self.state, event)
            if self.counts is not None:
                self.counts.follow(event, effects)
            super().happens(event)
        return self.last_requests


def test_a_consumer_tells_what_it_stored() -> None:
    found = values(BOARDS["consumer"])
    assert {name: value for name, value in found.items() if name.endswith("_total{consumer=3}")} == {
        "restow_idle_cycles_total{consumer=3}": 1,
        "restow_records_stored_total{consumer=3}": 10,
        "restow_rows_stored_total{consumer=3}": 8,
        "restow_bytes_stored_total{consumer=3}": 1000,
        "restow_refused_commits_total{consumer=3}": 2,
        "restow_gaps_total{consumer=3}": 1,
        "restow_gap_records_total{consumer=3}": 4,
    }
    assert found["restow_cycle_seconds_sum{consumer=3,step=write}"] == 0.6
    assert found["restow_commit_seconds_count{consumer=3}"] == 2
    assert found["restow_commit_seconds_bucket{consumer=3,le=0.05}"] == 1
    assert found["restow_partitions_held{consumer=3}"] == 2
    assert found["restow_failing_topics{consumer=3}"] == 1


def test_the_monitor_tells_what_it_measured() -> None:
    found = values(BOARDS["monitor"])
    assert found["restow_monitor_failures_total"] == 1
    assert found["restow_monitor_measurements_total"] == 1
    assert found["restow_monitor_partitions"] == 1
    assert found["restow_monitor_speed_bytes_per_second"] == 40
    assert found["restow_monitor_sample_seconds_count"] == 2


def test_the_margin_of_a_topic_is_that_of_its_worst_partition() -> None:
    statuses = {
        TopicPartition("a", number): PartitionStatus(None, None, 1.0, retention_margin_s=margin_s)
        for number, margin_s in enumerate((90.0, 30.0, None))
    }
    picture = Picture(pair().picture().overview, SortedMapping(), SortedMapping(statuses))
    board = Board("controller", "shop")
    board.publish(GroupNow(picture, 1, None, None).samples)
    assert values(board)["restow_topic_retention_margin_seconds{topic=a}"] == 30
    assert values(board)["restow_topic_unread_partitions{topic=a}"] == 3


def test_a_flag_of_a_topic_names_it_in_a_label() -> None:
    assert flag_labels("refused orders-eu") == ("refused", "orders-eu")
    assert flag_labels("stale speeds") == ("stale speeds", "")


@pytest.mark.parametrize("role", ROLES)
def test_both_formats_can_be_read_again(role: Role) -> None:
    registry = registry_of(BOARDS[role], Health())
    names = {family.name for family in text_string_to_metric_families(generate_latest(registry).decode())}
    expected = {family.name.removesuffix("_total") for family, _, _ in BOARDS[role].read()}
    assert expected <= {name.removesuffix("_total") for name in names}
    assert openmetrics(registry).decode().endswith("# EOF\n")  # type: ignore[no-untyped-call]


@pytest.mark.slow  # needs promtool, which `make test` provides
@pytest.mark.parametrize("role", ROLES)
def test_promtool_finds_nothing_to_say(role: Role) -> None:
    text = generate_latest(registry_of(BOARDS[role], Health()))
    done = subprocess.run([programs().promtool, "check", "metrics"], input=text, capture_output=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, b"")


def test_names_keep_the_conventions() -> None:
    for family in set(chain(*FAMILIES.values())):
        assert re.fullmatch(r"(restow|kafka_consumergroup_group)_[a-z_]+", family.name)
        assert family.name.endswith("_total") == (family.kind == "counter"), family.name
        assert bool(family.buckets) == (family.kind == "histogram"), family.name
        assert list(family.buckets) == sorted(family.buckets)
        assert family.help.endswith(".")


def large_group(consumers: int, topics: int, partitions: int) -> Picture:
    overview = pair().picture().overview
    names = [f"topic-{number}" for number in range(topics)]
    lag = Lag(5, 1.0)
    status = ConsumerStatus(Phase.READY, "", 0, 1.0, 1.0, lag, 1.0, 1.0)
    found = {
        TopicPartition(names[number % topics], number // topics): PartitionStatus(
            ConsumerId(1), None, 1.0, lag, retention_margin_s=9.0
        )
        for number in range(partitions)
    }
    flags = SortedMapping({f"refused {name}": RaisedFlag("…", "") for name in names})
    costs = SortedMapping({name: TopicCost(1.0, 1.0) for name in names})
    left_out = SortedMapping({name: LeftOutRecords(1, 1) for name in names})
    return Picture(
        replace(overview, flags=flags, costs=costs, left_out=left_out),
        SortedMapping({ConsumerId(number): status for number in range(1, consumers + 1)}),
        SortedMapping(found),
    )


@pytest.mark.parametrize("has_speeds", [False, True])
def test_the_number_of_series_is_bounded(has_speeds: bool) -> None:
    board, size = Board("controller", "shop"), GroupSize(300, 100, 10_000, flags=100, has_speeds=has_speeds)
    ControllerCounts(board.tallies)
    board.publish(GroupNow(large_group(300, 100, 10_000), 300, 0.0, 0.0, has_speeds).samples)
    series = sum(len(metric.samples) for metric in BoardCollector(board, Health()).collect())
    assert series == most_series("controller", size)
    assert series < (34_000 if has_speeds else 24_000)


@pytest.mark.parametrize("role", ROLES)
def test_no_role_has_more_series_than_the_bound(role: Role) -> None:
    collected = list(registry_of(BOARDS[role], Health()).collect())
    own = sum(len(metric.samples) for metric in collected if metric.name.startswith(("restow", "kafka")))
    others = sum(len(metric.samples) for metric in collected) - own
    assert 3 < own <= most_series(role, GroupSize(2, 1, 4, has_speeds=True))
    assert others <= PROCESS_SERIES


def test_a_counter_never_goes_down() -> None:
    family = Family("x_total", "counter", "X.")
    with pytest.raises(AssertionError, match="x_total is a counter"):
        Board("monitor", "shop").tallies.count(family, -1)


def test_a_reader_has_whole_values_whatever_the_loop_does_meanwhile() -> None:
    board = consumer_board()
    before = tuple(board.read())
    CycleCounts(board.tallies).ended(CycleEnded(SortedMapping(), SortedMapping(), records=5))
    assert tuple(board.read()) == before
    board.publish()
    assert tuple(board.read()) != before


def test_the_page_is_up_to_date() -> None:
    written = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert written == reference.page(), "docs/metrics.md is old; write it anew with: make docs"
