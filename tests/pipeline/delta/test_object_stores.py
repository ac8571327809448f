"""Delta tables in a real S3 server, with a door in front of it that throttles, times out and loses answers."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.support.delta.lake import COLUMNS, P0, P1, P2, lake, on_disk, rows, schema, store, stored, visible, write
from tests.support.delta.racing import Race
from tests.support.door import Fault, Request
from tests.support.s3.store import ObjectStore, StoreDoor, environment, is_commit

from restow.model import TopicPartition
from restow.pipeline.delta import objects, stores
from restow.pipeline.delta.compaction import compact
from restow.pipeline.delta.errors import DeltaTableError
from restow.pipeline.delta.ledger import Ledger
from restow.pipeline.delta.maintenance import maintain
from restow.pipeline.sinks import Span
from restow.settings import Table as TableSettings

SPANS = {P0: Span(0, 4), P1: Span(0, 4)}
GIVES_UP_S = "1s"


@pytest.fixture
def uri(object_store: ObjectStore) -> str:
    return f"s3://{object_store.bucket()}/tables/orders"


@pytest.fixture
def table(object_store: ObjectStore, uri: str, door: StoreDoor) -> Path:  # noqa: ARG001  the environment names it
    """Where the server has the table's objects."""
    return object_store.path(uri)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives a request up after a second."""
    monkeypatch.setenv("AWS_TIMEOUT", GIVES_UP_S)
    monkeypatch.setattr(stores, "RETRY_WITHIN_S", 1)
    monkeypatch.setattr(objects, "RETRY_WITHIN_S", 1)


def staging_of(path: str) -> str:
    return path.rpartition("/")[0]


def test_a_table_in_a_store_is_stored_settled_compacted_and_vacuumed_like_one_on_a_disk(uri: str, table: Path) -> None:
    settings = TableSettings(compact_at_files=4, removed_files_kept_s=0)
    sink = lake(uri, settings=settings)
    sink.register({P0: 0, P1: 0}, COLUMNS)
    for batch in range(4):
        assert store(sink, {p: Span(3 * batch, 3 * batch + 3) for p in (P0, P1)}) == ()
    [lost] = write(sink, {P0: Span(12, 15)})
    assert sink.settle(staging_of(lost.path), {P0: Span(12, 15)}) is False
    assert not (table / lost.path).exists()
    [late] = write(sink, {P0: Span(12, 15)})
    maintain(uri, settings)
    spans = {p: Span(0, 12) for p in (P0, P1)}
    assert stored(table) == rows(spans)
    assert lake(uri).positions(spans) == dict.fromkeys(spans, 12)
    assert (len(visible(table)), on_disk(table) - visible(table)) == (1, set())
    with pytest.raises(DeltaTableError, match="vacuum removed files of this one"):
        sink.commit([late], COLUMNS, {P0: Span(12, 15)})
    assert not list((table / objects.PROBES).glob("*")), "the probe is deleted"


def test_of_four_writers_of_the_same_ranges_in_a_store_each_range_is_taken_once(
    uri: str, object_store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(object_store.port).items():
        monkeypatch.setenv(name, value)
    clicks, race = TopicPartition("clicks", 9), Race(uri, tmp_path)
    lake(uri).register({P0: 0, clicks: 5}, COLUMNS)
    try:
        taken = race.run("compete", 10)
    finally:
        race.close()
    assert sum(taken) == 10
    assert stored(object_store.path(uri)) == rows({P0: Span(0, 10), clicks: Span(5, 15)})


def test_a_hundred_partitions_are_looked_up_in_one_copy_of_the_log(uri: str, door: StoreDoor) -> None:
    sink = lake(uri, settings=TableSettings(checkpoint_every_commits=3))
    partitions = [TopicPartition("many", number) for number in range(100)]
    sink.register({P0: 0}, COLUMNS)
    for batch in range(5):  # past a checkpoint
        assert sink.commit([], COLUMNS, {P0: Span(batch, batch + 1)}) == ()
    sink.register(dict.fromkeys(partitions[:50], 7), COLUMNS)
    before = len(door.passed)
    assert lake(uri).positions([P0, *partitions]) == {P0: 5, **dict.fromkeys(partitions[:50], 7)}
    assert len(door.passed) - before < 30


LOST: dict[str, dict[str, Any]] = {
    "an error from a proxy": {"code": 500},
    "throttled too late": {"code": 503},
    "a broken connection": {"is_cut": True},
}


@pytest.mark.parametrize("how", LOST)
def test_a_lost_answer_neither_loses_nor_doubles(how: str, uri: str, table: Path, door: StoreDoor) -> None:
    """The store takes a commit and its answer is lost. The next try is refused, because the object exists."""
    sink, log = lake(uri), table / "_delta_log"

    def commits_with_a_lost_answer(work: Callable[[], object]) -> int:
        before = len(list(log.glob("*.json")))
        lost = Fault(is_commit, times=1, passed_on=True, **LOST[how])
        door.faults.append(lost)
        work()
        assert lost.times == 0, "an answer was lost"
        return len(list(log.glob("*.json"))) - before

    assert commits_with_a_lost_answer(lambda: sink.register({P0: 0, P1: 0}, COLUMNS)) == 2, "one creates the table"
    assert commits_with_a_lost_answer(lambda: sink.register({P2: 7}, COLUMNS)) == 1
    assert commits_with_a_lost_answer(lambda: store(sink, SPANS)) == 1
    assert stored(table) == rows(SPANS)
    for first in (4, 6):
        assert commits_with_a_lost_answer(partial(store, sink, {P0: Span(first, first + 2)})) == 1
    [file] = files = write(sink, {P0: Span(8, 9)})
    assert commits_with_a_lost_answer(lambda: sink.settle(staging_of(file.path), {P0: Span(8, 9)})) == 1
    assert sink.settle(staging_of(file.path), {P0: Span(8, 9)}) is False
    with pytest.raises(DeltaTableError, match="write it again"):
        sink.commit(files, COLUMNS, {P0: Span(8, 9)})
    assert commits_with_a_lost_answer(lambda: compact(Ledger(uri), 2**20, run=1)) == 1
    assert len(visible(table)) == 1
    wide = schema(("topic", "string"), ("partition", "integer"), ("offset", "long"), ("new", "long"))
    assert commits_with_a_lost_answer(lambda: sink.register({}, wide)) == 1
    assert stored(table) == rows({P0: Span(0, 8), P1: Span(0, 4)})
    assert sink.positions([P0, P1, P2]) == {P0: 8, P1: 4, P2: 7}


def test_a_store_that_throttles_is_asked_again(uri: str, table: Path, door: StoreDoor) -> None:
    sink = lake(uri)
    sink.register({P0: 0, P1: 0}, COLUMNS)
    throttled = [door.throttle(2, is_commit), door.throttle(2, lambda request: request.path.endswith(".parquet"))]
    throttled.append(door.throttle(2, lambda request: request.method == "GET"))
    assert store(sink, SPANS) == ()
    assert [fault.times for fault in throttled] == [0, 0, 0]
    assert stored(table) == rows(SPANS)


@pytest.mark.usefixtures("impatient")
def test_a_store_that_throttles_for_long_is_named_and_used_again_later(uri: str, table: Path, door: StoreDoor) -> None:
    sink = lake(uri)
    sink.register({P0: 0, P1: 0}, COLUMNS)
    files = write(sink, SPANS)
    shut = door.throttle(10_000)
    with pytest.raises(DeltaTableError, match=r"503 Service Unavailable .*SlowDown, Please reduce your request"):
        sink.commit(files, COLUMNS, SPANS)
    shut.times = 0
    assert sink.settle(staging_of(files[0].path), SPANS) is False
    assert store(sink, SPANS) == ()
    assert stored(table) == rows(SPANS)


@contextmanager
def held(door: StoreDoor, matches: Callable[[Request], bool], times: int) -> Iterator[threading.Event]:
    """The requests reach the store only when the event is set."""
    release = threading.Event()
    door.faults.append(Fault(matches, times, before=release.wait))
    try:
        yield release
    finally:
        release.set()


@pytest.mark.usefixtures("impatient")
def test_a_commit_that_reaches_the_store_after_it_was_given_up_is_refused(
    uri: str, table: Path, door: StoreDoor, eventually: Callable[..., None]
) -> None:
    sink = lake(uri)
    sink.register({P0: 0, P1: 0}, COLUMNS)
    refused = len(door.refused)
    with held(door, is_commit, times=1) as release:
        assert store(sink, SPANS) == (), "the second try is taken"
        release.set()
        eventually(lambda: len(door.refused) > refused)
    assert stored(table) == rows(SPANS)

    [file] = files = write(sink, more := {P0: Span(4, 8), P1: Span(4, 8)})
    with held(door, is_commit, times=2) as release:
        with pytest.raises(DeltaTableError, match="timed out"):
            sink.commit(files, COLUMNS, more)
        assert sink.settle(staging_of(file.path), more) is False
        refused = len(door.refused)
        release.set()
        eventually(lambda: len(door.refused) == refused + 2)
    assert (stored(table), sink.positions(SPANS)) == (rows(SPANS), {P0: 4, P1: 4})
    assert not (table / file.path).exists()
    assert store(sink, more) == ()


@pytest.mark.usefixtures("impatient")
def test_a_store_without_put_if_absent_is_refused(
    uri: str, table: Path, object_store: ObjectStore, door: StoreDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forgets_what_it_has() -> None:
        for file in (table / objects.PROBES).glob("*"):
            object_store.forget(f"{uri}/{objects.PROBES}/{file.name}")

    ignores = Fault(lambda request: request.method == "PUT", times=2, before=forgets_what_it_has)
    door.faults.append(ignores)
    with pytest.raises(DeltaTableError, match=r"accepted a second object of the same name .*If-None-Match"):
        lake(uri).register({P0: 0}, COLUMNS)
    door.faults = [Fault(lambda request: request.method == "PUT", times=10_000, code=501)]
    with pytest.raises(DeltaTableError, match="use a store that has conditional puts"):
        lake(uri).preview([P0], COLUMNS)
    door.faults = []
    monkeypatch.setenv("AWS_S3_ALLOW_UNSAFE_RENAME", "true")
    with pytest.raises(DeltaTableError, match=r"AWS_S3_ALLOW_UNSAFE_RENAME = true makes commits .* unset it"):
        lake(uri).positions([P0])
    assert not (table / "_delta_log").exists(), "nothing is created"
    monkeypatch.delenv("AWS_S3_ALLOW_UNSAFE_RENAME")
    lake(uri).register({P0: 0}, COLUMNS)


def test_a_store_that_refuses_us_says_why(uri: str, monkeypatch: pytest.MonkeyPatch, door: StoreDoor) -> None:  # noqa: ARG001
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2-wrong")
    with pytest.raises(DeltaTableError) as refused:
        lake(uri).positions([P0])
    assert "403 Forbidden: SignatureDoesNotMatch, The request signature we calculated" in str(refused.value)
    assert "hunter2-wrong" not in str(refused.value)
