"""A Spark consumer loses the right to write one of its tables: the position stays, the reason is reported, commands are
served, the other table goes on, and when the right is back, it goes on by itself."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.support import plain_rights
from tests.support.delta.lake import brought
from tests.support.spark.crashes import SparkGroup
from tests.support.spark.project import rows_of

from restow.kafka.admin import Admin
from restow.model import TopicPartition
from restow.protocol.messages.consumer_events import StartConsumingEvent, StopConsumingEvent
from restow.protocol.messages.reports import ConsumerReport
from restow.protocol.topic_service import TopicService
from restow.settings import Kafka

pytestmark = pytest.mark.spark

Eventually = Callable[..., None]
PROBE = "import sys; open(sys.argv[1], 'w')"


@pytest.fixture
def group(kafka: Kafka, admin: Admin, prefix: str, tmp_path: Path, eventually: Eventually) -> Iterator[SparkGroup]:
    group = SparkGroup(kafka, admin, prefix, tmp_path, lambda condition: eventually(condition, within_s=120.0))
    group.program = (plain_rights.__file__, *group.program)
    yield group
    group.close()


def permit(table: Path, mode: int) -> None:
    """For all directories of the table: the existing ones, and through them any that would be created."""
    for directory, _, _ in list(os.walk(table)):
        Path(directory).chmod(mode)


def refuse_where_rights_do_not_hold(directory: Path) -> None:
    """Skips the test where its consumers can't be without root's rights."""
    directory.mkdir()
    directory.chmod(0o500)
    command = [sys.executable, plain_rights.__file__, "-c", PROBE, str(directory / "file")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "PermissionError" not in done.stderr:
        pytest.skip(f"root can't be without its rights here: {done.stderr.strip()[-200:]}")


def test_a_table_without_rights_keeps_its_position_while_all_else_goes_on_and_recovers(group: SparkGroup) -> None:
    refuse_where_rights_do_not_hold(group.directory / "probe")
    p0, _, _, more = group.partitions
    free = group.directory / "free"

    def freely(partition: TopicPartition) -> int:
        """How many records of the partition are in the other table."""
        found = rows_of(free, "_topic, _partition") if brought(free) else []
        return found.count(tuple(partition))

    group.produce(5, p0, more)
    process, _ = group.ready(1)
    group.start_all(1, p0)
    group.start_all(1, more, service=TopicService(table=str(free)))
    group.eventually(lambda: group.count() == 5 and freely(more) == 5)

    permit(group.lake, 0o500)
    group.produce(5, p0, more)
    group.eventually(lambda: freely(more) == 10)
    report = group.hears(ConsumerReport, 1, after=len(group.messages), of=lambda each: each.failures)
    [failure] = report.failures
    assert failure.topic == group.data
    assert failure.reason.startswith(f"the table {group.lake} can't be written: {group.lake}/data")
    assert failure.reason.endswith(": Permission denied")
    assert (report.next_offsets[p0], group.count()) == (5, 5)

    stopped = group.answer_to(StopConsumingEvent, 1, group.stops(1, p0.partition))
    assert dict(stopped.partitions) == {p0: 5}, "commands are served"
    started = group.answer_to(StartConsumingEvent, 1, group.start_all(1, p0))
    assert dict(started.partitions) == {p0: 5}
    group.produce(5, more)
    group.eventually(lambda: freely(more) == 15)

    permit(group.lake, 0o700)
    group.eventually(lambda: group.count() == 10)
    group.hears(ConsumerReport, 1, after=len(group.messages), of=lambda each: not each.failures)
    assert group.rows() == {p0: list(enumerate(group.produced[p0]))}
    assert process.poll() is None
