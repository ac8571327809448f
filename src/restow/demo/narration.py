"""The controller's decisions as lines: each with one reason, and what becomes of consumers.

Checks that led to no change are left out; `restow replay` shows everything.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from restow.controller.effects import Effect, Noted
from restow.model import TopicPartition

GROUP: Final = "group"
LEFT_OUT: Final = ("its process runs", "creating it")
"""Steps between a decision and a ready consumer that add nothing for a viewer."""
UNCHANGED: Final = re.compile(r"(\d+) -> \1 consumers")
"""The plan as it was, made again while a consumer of it starts."""

LOG_TAIL: Final = re.compile(r"; its log ends: .*?(?=; others take over|$)", re.DOTALL)
"""Of a consumer that crashed: the controller's own log has it."""


def narrated(effects: Iterable[Effect], partitions: Iterable[TopicPartition]) -> Iterator[str]:
    noted = [effect for effect in effects if isinstance(effect, Noted)]
    names = {str(partition) for partition in partitions}
    decisions = [note for note in noted if note.kind == "decision"]
    for summary in (note for note in decisions if note.subject == GROUP):
        if not UNCHANGED.fullmatch(summary.words):
            yield f"controller: {summary.words}"
    yield from (f"  {note.words}" for note in decisions if note.subject != GROUP and note.subject not in names)
    yield from _first_move([note for note in decisions if note.subject in names and " from consumer " in note.words])
    for note in noted:
        if note.kind != "decision" and note.words not in LEFT_OUT:
            yield f"controller: {LOG_TAIL.sub('', note.line)}"


def _first_move(moves: list[Noted]) -> Iterator[str]:
    if moves:
        more = len(moves) - 1
        others = f" ({more} more {'move' if more > 1 else 'moves'}, each with its reason)" if more else ""
        yield f"  {moves[0].words}{others}"
