"""A table and its dead-letter table, in every order in which two processes can meet: each record ends in one of them.

A process is a table, its dead-letter table and the code that it runs, which is the set of offsets that it rejects.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from arro3.core import Array, DataType
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from tests.support.delta.lake import COLUMNS, P0, P1, adopt, lake, parquet, stored

from restow.model import TopicPartition
from restow.pipeline.delta import sink as delta_sink
from restow.pipeline.delta.errors import DeltaTableError
from restow.pipeline.delta.ledger import Ledger
from restow.pipeline.delta.rejects import RejectTable
from restow.pipeline.delta.staging import Writer, WrittenFile
from restow.pipeline.sinks import Span
from restow.settings import Table as TableSettings

END = 4
"""The log has the offsets before it."""


def letters(root: Path, consumer: int = 1) -> RejectTable:
    """A dead-letter table that is written without Spark: its rows are pairs of a partition and an offset."""
    table: list[RejectTable] = []

    def write_rows(rows: Any, _: str, __: str, ___: object = ()) -> list[WrittenFile]:
        columns = {
            "state": Array(["rejected"] * len(rows), DataType.string()),
            "consumer_group": Array(["shop"] * len(rows), DataType.string()),
            "topic": Array([partition.topic for partition, _ in rows], DataType.string()),
            "partition": Array([partition.partition for partition, _ in rows], DataType.int32()),
            "offset": Array([offset for _, offset in rows], DataType.int64()),
        }
        return [adopt(table[0]._sink, parquet(columns), len(rows))]

    table.append(RejectTable(f"{root}_rejected", Writer("shop", consumer, 7), TableSettings(), write_rows))
    return table[0]


@dataclass
class Process:
    """Reads one partition by the steps of a cycle, each of which a test may leave out or delay."""

    root: Path
    consumer: int
    rejects: frozenset[int]
    """The offsets that its code can't take."""
    partition: TopicPartition = P0
    left_out: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        self.table, self.letters = lake(self.root, self.consumer), letters(self.root, self.consumer)

    def open(self) -> None:
        taken = self.table.take_over([self.partition])
        if taken:
            self.letters.fence(taken)
        self.at = self.table.positions([self.partition])[self.partition]
        if taken:
            self.left_out = self.letters.rejected({self.partition: self.at}).get(self.partition, frozenset())

    def steps(self) -> Iterator[Callable[[], bool]]:
        """Each returns whether the process may go on."""
        bad = sorted((self.rejects - self.left_out) & set(range(self.at, END)))
        good = {p for p in range(self.at, END) if p not in self.left_out and p not in bad}
        claimed: dict[TopicPartition, int] = {}

        def claim() -> bool:
            found, lost = self.table.claim({self.partition: self.at})
            claimed.update(found)
            return not lost

        if bad:
            yield claim
            yield lambda: not self.letters.store([(self.partition, each) for each in bad], claimed)  # type: ignore[arg-type]
        yield lambda: self._commit(good)

    def _commit(self, good: set[int]) -> bool:
        spans = {self.partition: Span(self.at, END)}
        return not self.table.commit(self._written(good), COLUMNS, spans)

    def _written(self, good: set[int]) -> list[WrittenFile]:
        rows = sorted(good)
        if not rows:
            return []
        columns = {
            "topic": Array([self.partition.topic] * len(rows), DataType.string()),
            "partition": Array([self.partition.partition] * len(rows), DataType.int32()),
            "offset": Array(rows, DataType.int64()),
        }
        return [adopt(self.table, parquet(columns), len(rows))]

    def run(self) -> None:
        """Opens its partition again whenever it was replaced, as a consumer that the controller starts again."""
        for _ in range(5):
            self.open()
            if self.at == END or all(step() for step in self.steps()):
                return
        raise AssertionError("it is replaced again and again")


@dataclass
class Tables:
    root: Path
    rejected: list[int] = field(default_factory=list)

    def audit(self) -> tuple[list[int], list[int]]:
        """The offsets in the table and in the dead-letter table; each record must be in one of them."""
        main = [offset for _, _, offset in stored(self.root)]
        dead = Path(f"{self.root}_rejected")
        letter_rows = letters(self.root).rows('"offset"', "state = 'rejected'") if dead.exists() else []
        rejected = sorted(row["offset"] for row in letter_rows)
        assert sorted(main + rejected) == list(range(END)), f"{main} in the table, {rejected} in the dead letters"
        return sorted(main), rejected


@pytest.fixture
def root(tmp_path: Path) -> Path:
    lake(tmp_path / "orders").register({P0: 0, P1: 0}, COLUMNS)
    return tmp_path / "orders"


def test_bad_records_are_in_the_dead_letters_and_all_others_in_the_table(root: Path) -> None:
    Process(root, 1, frozenset({1, 3})).run()
    assert Tables(root).audit() == ([0, 2], [1, 3])
    assert lake(root).positions([P0]) == {P0: END}


def test_a_table_without_bad_records_has_no_dead_letters_and_no_claims(root: Path) -> None:
    Process(root, 1, frozenset()).run()
    assert Tables(root).audit() == ([0, 1, 2, 3], [])
    assert not Path(f"{root}_rejected").exists()
    assert DeltaTable(root).transaction_version("shop/claims") is None


@pytest.mark.parametrize("killed_after", [1, 2])
@pytest.mark.parametrize(("before", "after"), [({1}, set()), (set(), {1}), ({1}, {2}), ({1, 2}, {2})])
def test_killed_between_the_commits_and_restarted_with_other_code(
    root: Path, before: set[int], after: set[int], killed_after: int
) -> None:
    first = Process(root, 1, frozenset(before))
    first.open()
    for step, _ in zip(first.steps(), range(killed_after if before else 0), strict=False):
        assert step()
    Process(root, 1, frozenset(after)).run()
    main, rejected = Tables(root).audit()
    was_rejected = before if killed_after == 2 else set()
    assert set(rejected) == was_rejected | (after - was_rejected)
    assert set(main) == set(range(END)) - set(rejected)


@pytest.mark.parametrize("order", sorted(set(permutations("zzznnnn"))), ids="".join)
def test_a_zombie_with_older_code_and_its_successor_in_every_order(root: Path, order: tuple[str, ...]) -> None:
    """z is a step of the zombie, which rejects 1; n one of its successor, which rejects 2: it opens, and then acts."""
    zombie, successor = Process(root, 1, frozenset({1})), Process(root, 2, frozenset({2}))
    zombie.open()
    acts: dict[str, Iterator[Callable[[], bool]]] = {"z": zombie.steps()}
    is_alive = {"z": True, "n": True}
    for who in order:
        if who == "n" and "n" not in acts:
            successor.open()
            acts["n"] = successor.steps() if successor.at < END else iter(())
        elif is_alive[who] and (step := next(acts[who], None)) is not None:
            is_alive[who] = step()
    Process(root, 3, frozenset({3})).run()  # whoever is next finishes what is left
    Tables(root).audit()


def test_a_claim_of_one_partition_does_not_hold_up_another(root: Path) -> None:
    first, second = Process(root, 1, frozenset({0})), Process(root, 2, frozenset(), partition=P1)
    first.open()
    next(iter(first.steps()))()
    second.open()
    assert all(step() for step in second.steps())
    assert lake(root).positions([P0, P1]) == {P0: 0, P1: END}


def test_a_claim_whose_answer_is_lost_is_found_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process(root, 1, frozenset({1}))
    process.open()
    commit = Ledger.commit

    def lost(*arguments: Any) -> None:
        monkeypatch.undo()
        commit(*arguments)
        raise OSError("connection reset")

    monkeypatch.setattr(Ledger, "commit", lost)
    assert all(step() for step in process.steps())
    assert Tables(root).audit() == ([0, 2, 3], [1])


def test_rejects_whose_answer_is_lost_are_left_out_when_the_partition_is_opened_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = Process(root, 1, frozenset({1}))
    process.open()
    claim, reject, _ = process.steps()
    assert claim()
    commit = Ledger.commit

    def lost(*arguments: Any) -> None:
        commit(*arguments)
        raise DeltaError("timeout")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "commit", lost)
        patch.setattr(delta_sink.DeltaSink, "_try_commit", _without_memory(delta_sink.DeltaSink._try_commit))
        with pytest.raises(DeltaTableError):
            reject()
    process.rejects = frozenset()
    process.run()
    assert Tables(root).audit() == ([0, 2, 3], [1])


def _without_memory(attempt: Callable[..., Any]) -> Callable[..., Any]:
    """Of a commit that was taken: the second attempt fails as well."""

    def fails(self: Any, *arguments: Any) -> Any:
        if getattr(self, "has_failed", False):
            raise DeltaError("timeout")
        self.has_failed = True
        return attempt(self, *arguments)

    return fails
