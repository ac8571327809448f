"""A group that reads every topic of a pattern into a table of its own: a topic that appears later gets one too.

All roles are real: the monitor finds the topic, the controller assigns it, and a consumer creates the table.
"""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.live_groups import Eventually, LiveGroup

from restow.kafka.admin import Admin
from restow.settings import Kafka


class TableEach(LiveGroup):
    """`table = "lake/{topic}.db"`."""

    def written(self, table: Path) -> str:
        return f"lake/{{topic}}{table.suffix}"

    def by_topic(self) -> dict[str, list[str]]:
        """The records of each table, by the topic that it is named after."""
        found = {}
        for file in sorted((self.directory / "lake").glob("*.db")):
            with sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=10) as database:
                has_records = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'records'").fetchone()
                rows = database.execute("SELECT topic, value FROM records").fetchall() if has_records else []
            assert {topic for topic, _ in rows} <= {file.stem}, "each table has the records of its topic"
            found[file.stem] = [bytes(value).decode() for _, value in rows]
        return found

    def stored(self) -> list[str]:
        return [name for names in self.by_topic().values() for name in names]


@pytest.fixture
def group(kafka: Kafka, admin: Admin, prefix: str, tmp_path: Path, eventually: Eventually) -> Iterator[TableEach]:
    group = TableEach(kafka, admin, prefix, tmp_path, eventually)
    with (tmp_path / "monitor.txt").open("wb") as output:
        command = [sys.executable, "-m", "restow", "monitor", "--config", str(group.config)]
        monitor = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    yield group
    monitor.kill()
    monitor.wait(30)
    group.end()


def test_a_topic_that_appears_later_under_a_pattern_gets_a_table_of_its_own(group: TableEach) -> None:
    orders = group.topic("orders", 2)
    group.produce(orders)
    group.start_controller()
    group.audit()
    assert group.by_topic().keys() == {orders[0].topic}

    clicks = group.topic("clicks", 2)
    group.produce((*orders, *clicks))
    group.audit()
    group.settle((*orders, *clicks), consumers=1)
    assert {topic: len(names) for topic, names in group.by_topic().items()} == {
        clicks[0].topic: 40,
        orders[0].topic: 80,
    }
