"""In whatever order writers read positions, write and commit: no offset is skipped, and none is stored twice."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.delta.lake import COLUMNS, P0, P1, lake, rows, stored, write
from tests.support.examples import examples

from restow.model import TopicPartition
from restow.pipeline.delta.compaction import compact
from restow.pipeline.delta.errors import DeltaTableError
from restow.pipeline.delta.ledger import Ledger
from restow.pipeline.delta.sink import DeltaSink
from restow.pipeline.delta.staging import WrittenFile
from restow.pipeline.sinks import Span

PARTITIONS = (P0, P1)


class Look(NamedTuple):
    """Reads the table's positions and writes a file with the next offsets."""

    writer: int
    partitions: frozenset[TopicPartition]
    length: int


class Commit(NamedTuple):
    """Commits the last written file, possibly late or for the second time."""

    writer: int


class Compact(NamedTuple):
    pass


WRITERS = st.integers(0, 1)
STEPS = st.one_of(
    st.builds(Look, WRITERS, st.frozensets(st.sampled_from(PARTITIONS), min_size=1), st.integers(1, 3)),
    st.builds(Commit, WRITERS),
    st.builds(Compact),
)


@settings(max_examples=examples(40))
@given(st.lists(STEPS, min_size=4, max_size=14), st.booleans())
@pytest.mark.slow
def test_no_order_of_steps_skips_or_repeats_an_offset(steps: Sequence[Look | Commit | Compact], alike: bool) -> None:
    """`alike`: the writers are two incarnations of one consumer; else two consumers."""
    with tempfile.TemporaryDirectory() as root:
        tables = (lake(Path(root), 1, incarnation=7), lake(Path(root), 1 if alike else 2, incarnation=8))
        tables[0].register(dict.fromkeys(PARTITIONS, 0), COLUMNS)
        taken = dict.fromkeys(PARTITIONS, 0)
        written: dict[int, tuple[list[WrittenFile], dict[TopicPartition, Span]]] = {}
        for step in steps:
            match step:
                case Look(writer, partitions, length):
                    at = tables[writer].positions(partitions)
                    assert at == {partition: taken[partition] for partition in partitions}
                    spans = {partition: Span(at[partition], at[partition] + length) for partition in at}
                    written[writer] = (write(tables[writer], spans), spans)
                case Commit(writer) if writer in written:
                    _commit(tables[writer], *written[writer], taken)
                case Compact():
                    compact(Ledger(root), 2**20, 0)
        assert stored(Path(root)) == rows({partition: Span(0, at) for partition, at in taken.items()})


def _commit(
    table: DeltaSink,
    files: list[WrittenFile],
    spans: dict[TopicPartition, Span],
    taken: dict[TopicPartition, int],
) -> None:
    """A commit must be taken if and only if the table is where the spans begin, or it is a repetition of the last
    commit. It may have to be written again only after a later cycle of the same consumer, in another incarnation."""
    replaced = tuple(partition for partition, span in sorted(spans.items()) if taken[partition] != span.first)
    try:
        refused = table.commit(files, COLUMNS, spans)
    except DeltaTableError:
        assert not replaced
        return
    if refused == () and replaced:
        assert all(taken[partition] == span.next for partition, span in spans.items()), "taken before"
        return
    assert refused == replaced
    if not refused:
        taken.update({partition: span.next for partition, span in spans.items()})
