"""A writer in a race for a table: `python -m tests.support.delta.racing RACE ROOT CONSUMER COUNT`.

ROOT is a path or a URI. All writers wait for the starting gun, the file that START names, and print their result as a
line of JSON. `Race` starts them.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from deltalake.exceptions import CommitFailedError
from tests.support.delta.lake import COLUMNS, P0, lake, schema, store, write
from tests.support.paths import ROOT

from restow.model import TopicPartition
from restow.pipeline.delta.compaction import compact
from restow.pipeline.delta.ledger import Ledger
from restow.pipeline.sinks import Span

NEXT_TABLE_S = 0.1
FINISHED_WITHIN_S = 240.0
START = "RACE_START"
FOUR = (1, 2, 3, 4)


class Race:
    def __init__(self, root: Path | str, directory: Path) -> None:
        self._root, self._start = str(root), directory / "start"
        self._runners: list[subprocess.Popen[str]] = []

    def enter(self, what: str, consumers: tuple[int, ...], count: int) -> list["subprocess.Popen[str]"]:
        entered = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.support.delta.racing", what, self._root, str(consumer), str(count)],
                cwd=ROOT,
                env={**os.environ, START: str(self._start)},
                stdout=subprocess.PIPE,
                text=True,
            )
            for consumer in consumers
        ]
        self._runners += entered
        return entered

    def fire(self) -> None:
        self._start.touch()

    def end(self) -> None:
        self._start.unlink(missing_ok=True)

    def finish(self, runners: list["subprocess.Popen[str]"]) -> list[Any]:
        output = [runner.communicate(timeout=FINISHED_WITHIN_S)[0] for runner in runners]
        assert [runner.returncode for runner in runners] == [0] * len(runners)
        return [json.loads(line) for line in output]

    def run(self, what: str, count: int, consumers: tuple[int, ...] = FOUR) -> list[Any]:
        runners = self.enter(what, consumers, count)
        self.fire()
        return self.finish(runners)

    def close(self) -> None:
        self.end()
        for runner in self._runners:
            runner.kill()
            runner.communicate()


def append(root: str, consumer: int, count: int) -> object:
    """Appends batches of three rows to its own partition."""
    table, own = lake(root, consumer), TopicPartition("orders", consumer)
    wait()
    table.register({own: 0}, COLUMNS)
    return [store(table, {own: Span(3 * batch, 3 * batch + 3)}) for batch in range(count)]


def create(root: str, consumer: int, count: int) -> object:
    """Creates tables at the same moment as all other writers, each with a column of its own."""
    own = schema(("offset", "long"), (f"of_{consumer}", "long"))
    wait()
    begun_s = gun().stat().st_mtime
    for number in range(count):
        table = lake(f"{root}/{number}", consumer)
        time.sleep(max(0.0, begun_s + NEXT_TABLE_S * (number + 1) - time.time()))
        table.register({TopicPartition("orders", consumer): 0}, own)
    return None


def evolve(root: str, consumer: int, count: int) -> object:
    """Appends batches to its own partition, each with one more column than the one before. Every second one is a column
    that all writers add at the same time."""
    table, own = lake(root, consumer), TopicPartition("orders", consumer)
    wait()
    table.register({own: 0}, COLUMNS)
    columns, replaced = json.loads(COLUMNS)["fields"], list[TopicPartition]()
    for batch in range(count):
        name = f"all_{batch}" if batch % 2 else f"of_{consumer}_{batch}"
        columns.append({"name": name, "type": "long", "nullable": True, "metadata": {}})
        spans = {own: Span(batch, batch + 1)}
        wider = json.dumps({"type": "struct", "fields": columns})
        replaced += table.commit(write(table, spans), wider, spans)
    return replaced


def compete(root: str, consumer: int, count: int) -> object:
    """Stores the same ranges of the same partitions as all other writers."""
    table, ours, partitions = lake(root, consumer), 0, [P0, TopicPartition("clicks", 9)]
    wait()
    while (at := table.positions(partitions))[P0] < count:
        ours += not store(table, {p: Span(at[p], at[p] + 1) for p in partitions})
    return ours


def register(root: str, consumer: int, count: int) -> object:
    """Registers the same partitions as all other writers, at another offset."""
    table, partitions = lake(root, consumer), [TopicPartition("orders", number) for number in range(count)]
    wait()
    table.register(dict.fromkeys(partitions, consumer), COLUMNS)
    return [table.positions(partitions)[partition] for partition in partitions]


def compact_often(root: str, consumer: int, count: int) -> object:
    ledger, done = Ledger(root), 0
    wait()
    while gun().exists():
        ledger.reload()
        if len(ledger.table.file_uris()) >= count:
            with suppress(CommitFailedError):
                compact(ledger, 2**20, consumer)
                done += 1
        time.sleep(0.01)
    return done


def die_before_the_commit(root: str, consumer: int, count: int) -> object:
    table = lake(root, consumer)
    table.register({P0: 0}, COLUMNS)
    write(table, {P0: Span(0, count)})
    os.kill(os.getpid(), signal.SIGKILL)
    return None


def gun() -> Path:
    return Path(os.environ[START])


def wait() -> None:
    while not gun().exists():
        time.sleep(0.001)


RACES: dict[str, Callable[[str, int, int], object]] = {
    race.__name__: race for race in (append, create, evolve, compete, register, compact_often, die_before_the_commit)
}

if __name__ == "__main__":
    what, root, consumer, count = sys.argv[1:]
    print(json.dumps(RACES[what](root, int(consumer), int(count))))
