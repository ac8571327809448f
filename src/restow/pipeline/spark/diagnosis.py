"""Says why a cycle failed, with the record that causes it: `explain` runs the transform again on smaller and smaller
ranges, without a table. The engine calls it."""

import time
from collections.abc import Mapping
from typing import Final, NamedTuple, Protocol

from restow.consumer.pipeline import ShouldEnd
from restow.consumer.planning import Range
from restow.errors import RestowError
from restow.model import TopicPartition
from restow.pipeline.formats.frames import BadRecord
from restow.pipeline.locating import locate, named
from restow.pipeline.sinks import NullSink, Span
from restow.pipeline.spark.failures import JobFailed, call_sites
from restow.pipeline.spark.worker import Patience, no_patience
from restow.pipeline.targets import TargetCycle
from restow.pipeline.transforms import TransformRaised

LOCATE_WITHIN_S: Final = 15.0
"""How long to look for the record on which a transform fails. It is done once for each failure, while other tables
wait; a command or the shutdown ends it."""


class Runs(Protocol):
    def run(self, cycle: TargetCycle, should_end: ShouldEnd, patience: Patience) -> object:
        """Returns None if the job was cancelled. Raises RestowError if it failed."""
        ...


class Located(NamedTuple):
    """What a transform fails on, and the error that it raises there."""

    spans: Mapping[TopicPartition, Span]
    reason: str


def explain(engine: Runs, cycle: TargetCycle, error: RestowError, should_end: ShouldEnd) -> str:
    """Why a cycle failed, with the record that causes it if it is one."""
    if not isinstance(error, JobFailed | TransformRaised) or not cycle.target.maker:
        return str(error)
    if found := located(engine, cycle, should_end):
        return f"{cycle.target.maker} fails on {named(found.spans)}: {found.reason}"
    has_records = any(taken.records for taken in cycle.ranges.values())
    return f"{error}; the cycle was {named(cycle.spans)}" if has_records else str(error)


def located(engine: Runs, cycle: TargetCycle, should_end: ShouldEnd) -> Located | None:
    """Finds the record on which the transform of a failed cycle fails, by running it without a table; if time is
    short, LOCATE_WITHIN_S and until `should_end`, the offsets among which it is. Returns None if it does not fail so:
    the table or the brokers are to blame."""
    deadline_s = time.monotonic() + LOCATE_WITHIN_S
    errors: list[JobFailed | TransformRaised] = []

    def has_no_time() -> bool:
        return should_end() or time.monotonic() > deadline_s

    def fails(spans: Mapping[TopicPartition, Span]) -> bool | None:
        if has_no_time():
            return None
        ranges = {partition: Range(span.first, span.first, span.next) for partition, span in spans.items()}
        try:
            done = engine.run(TargetCycle(cycle.target, ranges, 0.0, NullSink()), has_no_time, no_patience)
        except (JobFailed, TransformRaised) as error:
            errors.append(error)
            return True
        except BadRecord:  # it hides what the transform would do with the others
            return None
        return None if done is None else False

    spans = {partition: Span(taken.first, taken.next) for partition, taken in cycle.ranges.items() if taken.records}
    with call_sites():
        if not spans or not fails(spans):
            return None
        found, last = locate(spans, fails), errors[-1]
    is_one_record = sum(span.next - span.first for span in found.values()) == 1
    # An error of Spark itself on many records may be one of reading them.
    return Located(found, last.reason) if is_one_record or last.is_users else None
