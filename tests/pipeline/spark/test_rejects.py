"""Bad records with a real broker and a real Spark: found, rejected, skipped or too many, and each in one table."""

import json
import signal
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.support.paths import TRANSFORMS
from tests.support.spark.live import QUICK, Borrowed, Lake, Reading, reading
from tests.support.spark.project import rows_of

from restow.cli import main
from restow.cli.support.stopping import STOP_SIGNALS
from restow.consumer.events import CycleEnded
from restow.model import SortedMapping, TopicPartition
from restow.pipeline.delta.errors import DeltaTableError
from restow.pipeline.delta.rejects import STORED
from restow.pipeline.delta.sink import DeltaSink
from restow.pipeline.rejected_records import Filter, rejected_in
from restow.pipeline.retrying import Retried, Retrier
from restow.pipeline.spark import engine as spark_engine
from restow.pipeline.spark.session import Resources
from restow.pipeline.targets import target_of
from restow.protocol.field_types import RECOVER
from restow.protocol.messages.reports import Rejected
from restow.protocol.topic_service import TopicService
from restow.settings import Group, Settings

NEVER_SEVEN = "transforms_on_spark:never_seven"


def reader_of(lake: Lake, consumer: int = 1, **services: TopicService) -> Reading:
    by_topic = {f"{lake.prefix}-{name}": service for name, service in services.items()}
    return reading(lake.pipeline(consumer), by_topic, {TopicPartition(topic, 0): RECOVER for topic in by_topic})


def numbers(lake: Lake, table: str = "table") -> list[tuple[int, int]]:
    """Offset and number of all rows."""
    return sorted(rows_of(lake.table(table), "_offset, number"))


def letters(lake: Lake, columns: str = '"offset"', table: str = "table_rejected") -> list[tuple[Any, ...]]:
    return sorted(rows_of(lake.table(table), columns))


def until(reader: Reading, *ends: int) -> list[CycleEnded]:
    """Runs cycles until the partitions, in order, have these positions; a search may take many of them."""
    cycles: list[CycleEnded] = []
    while tuple(reader.at.values()) != ends:
        cycles.append(reader.cycle())
        assert reader.pipeline.is_searching or len(cycles) < 1000, f"the partitions are at {reader.at}, not at {ends}"
        assert cycles[-1].failures == ()
    return cycles


def rejected(cycles: list[CycleEnded]) -> list[Rejected]:
    return [each for cycle in cycles for each in cycle.rejected]


def test_bad_records_become_dead_letters_while_all_others_and_other_tables_go_on(lake: Lake) -> None:
    topic, other = lake.topic("orders", 1), lake.topic("clicks", 1)
    service = TopicService(table=lake.table(), transform=NEVER_SEVEN)
    values = [str(number % 25) for number in range(60)]
    lake.produce(topic, values)
    reader = reader_of(lake, orders=service, clicks=TopicService(table=lake.table("clicks")))
    lake.produce(other, ["1"])
    cycles = [reader.cycle()]
    assert reader.at[TopicPartition(other, 0)] == 1, "it does not wait for the search"
    cycles += until(reader, 1, 60)
    bad = [7, 32, 57]
    assert numbers(lake) == [(offset, offset % 25) for offset in range(60) if offset not in bad]
    assert letters(lake, '"offset", topic, "partition", decode(value), state, consumer_group') == [
        (offset, topic, 0, "7", "rejected", lake.prefix) for offset in bad
    ]
    [(error,)] = set(letters(lake, "error"))
    assert error.startswith("ValueError: a seven (")
    assert rejected(cycles) == [Rejected(topic, rejected=3)]
    assert any(f"{topic}-0 at offset 7 is rejected into" in line for line in lake.logged)
    assert any("found 3 bad records within" in line for line in lake.logged)


def test_what_was_rejected_before_a_crash_is_left_out_whatever_the_code_makes_of_it_now(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = lake.topic("orders", 1)
    lake.produce(topic, ["6", "7", "8"])
    service = TopicService(table=lake.table(), transform=NEVER_SEVEN)
    crashed = reader_of(lake, orders=service)
    is_rejected: list[bool] = []

    def commit(self: DeltaSink, *_: object) -> None:
        is_rejected.append(self.uri == lake.table())
        raise DeltaTableError("killed between the commits")

    with monkeypatch.context() as patch:
        patch.setattr(DeltaSink, "commit", commit)
        while not lake_has_letters(lake):
            crashed.cycle()
    assert letters(lake) == [(1,)]
    accepting = replace(service, transform="transforms_on_spark:numbers")
    reader_of(lake, 2, orders=accepting).until(3)
    assert (numbers(lake), letters(lake)) == ([(0, 6), (2, 8)], [(1,)])
    lake.produce(topic, ["7"])
    reader_of(lake, 2, orders=accepting).until(4)
    assert (numbers(lake), letters(lake)) == ([(0, 6), (2, 8), (3, 7)], [(1,)]), "the claim is closed"
    [ended] = [line for line in lake.logged if "rejected before a crash" in line]
    assert "1 record rejected before a crash" in ended


def lake_has_letters(lake: Lake) -> bool:
    try:
        return bool(letters(lake))
    except Exception:  # noqa: BLE001  there is no table yet
        return False


def test_more_bad_records_than_allowed_stop_the_topic_and_nothing_is_rejected(lake: Lake) -> None:
    topic = lake.topic("orders", 1)
    lake.produce(topic, ["7"] * 10)
    service = TopicService(table=lake.table(), transform=NEVER_SEVEN, most_rejected_per_min=3)
    reader = reader_of(lake, orders=service)
    failures = next(cycle.failures for cycle in iter(reader.cycle, None) if cycle.failures)
    [failure] = failures
    assert failure.reason.startswith(f"more than 3 records in a minute can't be stored in the table {lake.table()}")
    assert tuple(reader.at.values()) == (0,)
    assert not lake_has_letters(lake)


def test_records_that_do_not_parse_and_records_that_the_query_fails_on_are_skipped_or_rejected(lake: Lake) -> None:
    topic = lake.topic("orders", 1)
    (lake.directory / "schema.ddl").write_text("id string, n int")
    lines = ['{"id": "a", "n": 1}', "nothing", '{"id": "b", "n": 0}', None, '{"id": "c", "n": 2}']
    lake.produce(topic, lines)
    service = TopicService(
        table=lake.table(),
        format="json",
        schema=str(lake.directory / "schema.ddl"),
        sql="select id, 10 div n as number from records",
    )
    cycles = until(reader_of(lake, orders=service), 5)
    assert numbers(lake) == [(0, 10), (3, None), (4, 5)], "a tombstone has no fields, and is no bad record"
    reasons = dict(letters(lake, '"offset", error'))
    assert reasons[1] == "it doesn't parse: it is not a JSON object that fits the schema"
    assert "DIVIDE_BY_ZERO" in reasons[2]
    assert rejected(cycles) == [Rejected(topic, rejected=2)]
    other = lake.topic("skipped", 1)
    lake.produce(other, lines)
    skipping = replace(service, table=lake.table("skipping"), on_bad_record="skip")
    cycles = until(reader_of(lake, 2, skipped=skipping), 5)
    assert numbers(lake, "skipping") == [(0, 10), (3, None), (4, 5)]
    assert rejected(cycles) == [Rejected(other, skipped=2)]
    assert not (lake.directory / "skipping_rejected").exists()


def test_a_retry_stores_each_record_once_whenever_it_is_killed(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    topic = lake.topic("orders", 1)
    lake.produce(topic, ["6", "7", "8", "7"])
    service = TopicService(table=lake.table(), transform=NEVER_SEVEN)
    until(reader_of(lake, orders=service), 4)
    assert letters(lake) == [(1,), (3,)]
    settings = Settings(lake.kafka, group=Group(lake.prefix), spark=QUICK)
    engine = Borrowed(settings, Resources(cores=1.0))

    def retry(transform: str, offset: int | None = None) -> Retried:
        retrier = Retrier(settings, engine, target_of(replace(service, transform=transform)))
        return retrier.retry(Filter((topic,), offset=offset), lambda: False)

    still = retry(NEVER_SEVEN)
    assert (still.stored, sorted(still.failed)) == (0, [(topic, 0, 1), (topic, 0, 3)])
    note = Retrier._note

    def killed(self: Retrier, state: str, *arguments: Any) -> None:
        if state == STORED:
            raise KeyboardInterrupt
        note(self, state, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Retrier, "_note", killed)
        with pytest.raises(KeyboardInterrupt):
            retry("transforms_on_spark:numbers", offset=1)
    assert numbers(lake) == [(0, 6), (1, 7), (2, 8)], "it was killed after the table's commit"
    assert retry("transforms_on_spark:numbers") == Retried(1, {})
    assert numbers(lake) == [(0, 6), (1, 7), (2, 8), (3, 7)]
    assert retry("transforms_on_spark:numbers") == Retried(0, {})
    assert rejected_in(settings, lake.table("table_rejected"), Filter()) == []
    assert sorted(state for (state,) in letters(lake, "state")) == ["rejected"] * 2 + ["retrying"] * 2 + ["stored"] * 2
    engine.close()


@pytest.fixture
def own_signals() -> Iterator[None]:
    """What a command in this process does on signals ends with the test."""
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("own_signals")
def test_the_dead_letters_of_all_tables_of_a_topic_are_listed_shown_counted_and_retried(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    topic, config = lake.topic("orders", 1), lake.directory / "restow.toml"
    first, second = lake.table("first"), lake.table("second")
    options = {"first": first, "second": second}
    monkeypatch.setattr(spark_engine, "Engine", Borrowed)  # which leaves this file's session running
    monkeypatch.setenv("PYTHONPATH", str(TRANSFORMS))

    def rejected_command(transform: str, *arguments: str) -> Any:
        config.write_text(
            f'[kafka]\nbootstrap = "{lake.kafka.bootstrap}"\n[group]\nname = "{lake.prefix}"\n'
            f'[consume.{topic}]\ntransform = "{transform}"\n'
            f'options = {{ first = "{first}", second = "{second}" }}\n'
        )
        capsys.readouterr()
        assert main(["rejected", *arguments, "--json", "--config", str(config)]) == 0
        return json.loads(capsys.readouterr().out)

    checked, taken = "transforms_on_spark:checked_twice", "transforms_on_spark:taken_twice"
    lake.produce(topic, [str(number) for number in range(10)])
    until(reader_of(lake, orders=TopicService(transform=checked, options=SortedMapping(options))), 10)
    assert numbers(lake, "second") == [(number, number) for number in range(10) if number not in (5, 7)]

    found = [(each["table"], each["offset"], each["value"]) for each in rejected_command(checked, "list")]
    assert found == [(first, 7, "7"), (second, 5, "5"), (second, 7, "7")]
    counts = [(each["table"], each["records"]) for each in rejected_command(checked, "count", "--topic", topic)]
    assert sorted(counts) == [(first, 1), (second, 2)]
    assert [each["table"] for each in rejected_command(checked, "show", topic, "0", "7")] == [first, second]

    assert rejected_command(taken, "retry") == {"stored": 3, "still_rejected": 0}
    assert numbers(lake, "first") == numbers(lake, "second") == [(number, number) for number in range(10)]
    assert rejected_command(taken, "list") == []
