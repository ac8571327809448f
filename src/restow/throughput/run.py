"""Measures all cases: each with brokers and topics of its own, filled once for all of its contenders."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from restow.errors import RestowError
from restow.kafka.embedded.broker import EmbeddedKafka
from restow.scratch import temporary
from restow.settings import Kafka
from restow.study.throughput import BARE, LOOP, RESTOW, Capacity, Case, capacity
from restow.throughput import backlog, consumer, peers
from restow.throughput.audit import check_stored
from restow.throughput.contender import Setting, Unavailable
from restow.throughput.measuring import Measured, Timing, measure
from restow.throughput.usage import cores, on_cores

MOST_MB_PER_S: Final = 100
MOST_RECORDS_PER_S: Final = 300_000
"""A backlog is what a contender could store at these speeds: more than Spark does on one core."""
LEAST_BACKLOG_S: Final = 8.0
"""The time it is for, however short the measurement: it must last for several cycles."""
NO_JVM: Final = (BARE, LOOP)
"""They need no warm-up of a minute, half the time, and read the topics again at their end."""
WARM_WITHOUT_JVM_S: Final = 5.0
TELL_EVERY_S: Final = 5.0

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A contender on a case: its figures, or why there are none."""

    contender: str
    case: Case
    measured: Measured | None
    capacity: Capacity | None = None
    """Of restow's."""


def run(
    cases: Mapping[Case, Sequence[str]], timing: Timing, platform_of: consumer.PlatformOf, tell: Tell
) -> Iterator[Outcome]:
    """One outcome after the other. A contender that is not available, or fails, is left out with a line that says
    so."""
    missing = {}
    for name in sorted({name for names in cases.values() for name in names}):
        try:
            peers.need(name)
        except Unavailable as reason:
            missing[name] = reason
            tell(f"{name} is left out: {reason}")
    machine = cores()
    for case, names in cases.items():
        own, others = shared_out(machine, case.cores)
        # What this process does beside a contender, it does on the brokers' cores.
        with temporary("bench"), on_cores(others), EmbeddedKafka(case.brokers) as broker:
            kafka = Kafka(broker.bootstrap)
            with on_cores(machine):
                records = _filled(kafka, case, timing, tell)
            for name in names:
                if name not in missing:
                    yield _outcome(name, kafka, case, own, timing, records, platform_of, tell)


def records_for(case: Case, timing: Timing) -> int:
    for_s = max(LEAST_BACKLOG_S, timing.warm_up_s + timing.for_s)
    per_s = min(MOST_RECORDS_PER_S, MOST_MB_PER_S * 1_000_000 // case.record_bytes)
    if case.tables > 1:
        per_s //= 2  # each has jobs and commits of its own
    return int(for_s * per_s * case.cores)


def shared_out(machine: Sequence[int], count: int) -> tuple[Sequence[int], Sequence[int]]:
    """The cores of contenders, the machine's last ones, and those of brokers and everything else: all, if contenders
    leave none."""
    return machine[-count:], machine[:-count] or machine


def _filled(kafka: Kafka, case: Case, timing: Timing, tell: Tell) -> int:
    records, told_s = records_for(case, timing), time.monotonic()
    size_gb = records * case.record_bytes / 1e9

    def progress(done: int) -> None:
        nonlocal told_s
        if time.monotonic() >= told_s + TELL_EVERY_S:
            tell(f"{case}: filling the topics, {done * case.record_bytes / 1e9:.1f} of {size_gb:.1f} GB")
            told_s = time.monotonic()

    backlog.create(kafka, case)
    backlog.fill(kafka, case, records, progress)
    return records


def _outcome(
    name: str,
    kafka: Kafka,
    case: Case,
    own: Sequence[int],
    timing: Timing,
    records: int,
    platform_of: consumer.PlatformOf,
    tell: Tell,
) -> Outcome:
    with temporary(name) as directory:
        setting = Setting(kafka, case, tuple(own), directory)
        running = consumer.running(setting, platform_of) if name == RESTOW else peers.running(name, setting)
        backlog_records = inf if name in NO_JVM else records
        if name in NO_JVM:
            timing = Timing(min(timing.warm_up_s, WARM_WITHOUT_JVM_S), timing.for_s / 2)
        try:
            measured = measure(
                name, case, own, running, timing, backlog_records, lambda what: tell(f"{name}, {case}: {what}")
            )
            if name != RESTOW:
                return Outcome(name, case, measured)
            check_stored(setting)
        except RestowError as error:
            tell(f"{name}, {case} is left out: {error}")
            return Outcome(name, case, None)
        each_bytes = backlog.log_bytes(kafka, case) / records
        return Outcome(name, case, measured, capacity(case, measured.speed, each_bytes))
