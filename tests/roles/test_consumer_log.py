"""The consumer's process in this process, without servers: what it logs while it changes, cycles and ends."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from restow.consumer import progress, watchdog
from restow.consumer.effects import ChangeAssignment, RunCycle
from restow.consumer.events import AssignmentChanged, CommandRead, CycleEnded, Event, RefusedPartitions
from restow.consumer.machine import NONE_BROKEN
from restow.consumer.outgoing import STALLED
from restow.consumer.pipeline import ShouldEnd
from restow.consumer.volume import Volume
from restow.health import Health
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.field_types import BrokenTransforms
from restow.protocol.messages.commands import StartConsumingCommand
from restow.protocol.messages.reports import ConsumerReport, Failure
from restow.protocol.topic_service import TopicService
from restow.roles.consumer import ConsumerProcess, Stalled
from restow.settings import Consumer, Group, Kafka, Settings

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
LENGTH = "of 0.5 s each, the longest 0.5 s"
START = StartConsumingCommand(
    incarnation=7,
    epoch=3,
    sequence=1,
    partitions=SortedMapping({A0: 0, A1: 0, B0: 0}),
    topics=SortedMapping({"a": TopicService(table="lake/a"), "b": TopicService(table="lake/b")}),
)


@dataclass
class OneCommand:
    """A mailbox with the Start command in it."""

    letters: list[Event] = field(default_factory=lambda: [CommandRead(0, START)])
    sent: list[object] = field(default_factory=list)

    def send(self, message: object) -> int:
        self.sent.append(message)
        return 7  # every record has the offset of the incarnation

    def poll(self) -> Iterable[Event]:
        letters, self.letters = self.letters, []
        return letters


@dataclass
class Tables:
    """A pipeline that refuses topic b, and stores 500 records of 1 kB of topic a in its second cycle."""

    cycles: int = 0

    def warm_up(self, should_end: ShouldEnd) -> None:
        pass

    def broken_transforms(self, services: Iterable[TopicService], should_end: ShouldEnd) -> BrokenTransforms:  # noqa: ARG002
        return NONE_BROKEN

    def change(self, change: ChangeAssignment) -> AssignmentChanged:
        if change.stop:
            return AssignmentChanged(SortedMapping(), SortedMapping(dict.fromkeys(change.stop, 9)))
        refused = RefusedPartitions((B0,), "table", "there is no table lake/b")
        return AssignmentChanged(SortedMapping({A0: 0, A1: 0}), SortedMapping(), (refused,))

    def cycle(self, cycle: RunCycle, should_end: ShouldEnd) -> CycleEnded:
        should_end()
        self.cycles += 1
        stored = 500 if self.cycles == 2 else 0
        return CycleEnded(cycle.positions, SortedMapping({A0: 3}), stored, 1000 * stored, 0.5)


def run(directory: Path, monkeypatch: pytest.MonkeyPatch, cycles: int) -> None:
    tables = Tables()
    monkeypatch.setattr(ConsumerProcess, "_prepare", lambda _: None)  # there is no broker
    with Volume(directory, "restow", ConsumerId(1), "") as volume:
        ConsumerProcess(
            Settings(Kafka("127.0.0.1:1"), Group("lake")),
            ConsumerId(1),
            volume,
            cast("Any", tables),
            cast("Any", OneCommand()),
            Health(None),
            lambda _: tables.cycles >= cycles,
        ).run()


def test_every_change_is_followed_by_a_line_on_progress_and_one_on_refusals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "restow")
    run(tmp_path, monkeypatch, cycles=3)
    lines = [line for line in caplog.messages if line.startswith(("stored ", "not reading "))]
    assert lines == [
        "stored nothing in the last 0 s; lag 3 records; holds 2 partitions, stored in lake/a",
        "not reading b-0: there is no table lake/b",
        f"stored 500 records (500.0 kB) in the last 0 s, in 1 cycle {LENGTH}; holds no partitions",
    ]


def test_a_line_comes_whenever_its_interval_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "restow")
    monkeypatch.setattr(progress, "EVERY_S", 0.0)
    run(tmp_path, monkeypatch, cycles=4)
    held = [line for line in caplog.messages if line.endswith("; lag 3 records; holds 2 partitions, stored in lake/a")]
    assert len(held) >= 2


@dataclass
class HangingTables(Tables):
    """A pipeline whose third cycle hangs."""

    dumps: int = 0

    def cycle(self, cycle: RunCycle, should_end: ShouldEnd) -> CycleEnded:
        while self.cycles == 2:
            should_end()
        return super().cycle(cycle, should_end)

    def dump_threads(self) -> None:
        self.dumps += 1


def test_a_cycle_that_hangs_is_dumped_and_reported_and_then_ends_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(ConsumerProcess, "_prepare", lambda _: None)
    monkeypatch.setattr(watchdog, "STALLED_AFTER_S", 0.0)
    monkeypatch.setattr(watchdog, "STALLED_TIMES", 1.0)
    monkeypatch.setattr(watchdog, "HOPELESS_AFTER_S", 1.0)
    mailbox, tables = OneCommand(), HangingTables()
    settings = Settings(Kafka("127.0.0.1:1"), Group("lake"), consumer=Consumer(report_every_s=0.01))
    with Volume(tmp_path, "restow", ConsumerId(1), "") as volume, pytest.raises(Stalled, match="makes no progress"):
        ConsumerProcess(
            settings,
            ConsumerId(1),
            volume,
            cast("Any", tables),
            cast("Any", mailbox),
            Health(None),
            lambda _: False,
        ).run()
    assert tables.dumps == 1
    [line] = [record for record in caplog.messages if "far longer than any before" in record]
    assert line.endswith("all threads:")
    reports = [message for message in mailbox.sent if isinstance(message, ConsumerReport)]
    assert reports[-1].failures == (Failure("a", STALLED),)
    assert {report.failures for report in reports} <= {(), (Failure("a", STALLED),)}
