"""`restow consumer`, which sends itself a signal at an exact point of its work.

    CRASH_FILE=… python crashing.py consumer …

The file names a point and a signal ("files written SIGKILL"). The process that reaches the point removes the file and
sends itself the signal.
"""

import os
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from restow.cli import main
from restow.consumer.checkpoint import TableWrite
from restow.consumer.volume import Volume
from restow.kafka.channels.consumer import Mailbox
from restow.kafka.offsets import GroupOffsets
from restow.model import TopicPartition
from restow.pipeline import pipeline
from restow.pipeline.delta.sink import DeltaSink
from restow.pipeline.delta.staging import WrittenFile
from restow.pipeline.spark import writing
from restow.protocol.definitions import REJECTED
from restow.protocol.messages.consumer_events import StopConsumingEvent
from restow.protocol.messages.unions import FromConsumer

PLAN_SAVED: Final = "plan saved"
FILES_WRITTEN: Final = "files written"
LETTERS_WRITTEN: Final = "letters written"
"""The files of dead letters: the partition is claimed, and the records are not rejected yet."""
TABLE_COMMITTED: Final = "table committed"
OFFSETS_COMMITTED: Final = "offsets committed"
ANSWER_NOT_SENT: Final = "answer not sent"


def reach(point: str) -> None:
    file = Path(os.environ["CRASH_FILE"])
    if not file.exists():
        return
    wanted, _, name = file.read_text().rpartition(" ")
    if wanted == point:
        file.unlink()
        # To this thread: a SIGSTOP to the process may reach another one first, and this one goes on until that has CPU.
        signal.pthread_kill(threading.get_ident(), signal.Signals[name])


def install() -> None:
    write_plan, write_files, take = Volume.write_plan, writing.write_files, DeltaSink.commit
    commit_offsets, send = GroupOffsets.commit, Mailbox.send
    planned: list[TableWrite] = []

    def planning(self: Volume, stages: tuple[TableWrite, ...]) -> None:
        planned[:] = stages
        write_plan(self, stages)
        reach(PLAN_SAVED)

    def writing_files(*arguments: Any) -> list[WrittenFile]:
        files = write_files(*arguments)
        _, table, *_ = arguments
        reach(LETTERS_WRITTEN if table.endswith(REJECTED) else FILES_WRITTEN)
        return files

    def committing(self: DeltaSink, *arguments: Any) -> tuple[TopicPartition, ...]:
        replaced = take(self, *arguments)
        reach(TABLE_COMMITTED)
        return replaced

    def committing_offsets(self: GroupOffsets, offsets: Mapping[TopicPartition, int], wait: bool = False) -> None:
        of_a_cycle = bool(offsets and planned) and not wait  # an opened partition's are committed too
        commit_offsets(self, offsets, wait or of_a_cycle)
        if of_a_cycle:
            reach(OFFSETS_COMMITTED)

    def sending(self: Mailbox, message: FromConsumer) -> int:
        if isinstance(message, StopConsumingEvent):
            reach(ANSWER_NOT_SENT)
        return send(self, message)

    Volume.write_plan = planning  # type: ignore[method-assign]
    vars(pipeline)["write_files"] = writing_files
    DeltaSink.commit = committing  # type: ignore[assignment]
    GroupOffsets.commit = committing_offsets  # type: ignore[method-assign]
    Mailbox.send = sending  # type: ignore[method-assign]


if __name__ == "__main__":
    install()
    sys.exit(main())
