"""Remembers on the consumer's volume which ranges crashed the process, and has them read carefully (suspects.py).

cycle.py owns it. The controller need not know: a range stays suspect as long as its partitions stay with this consumer.
"""

import logging
from collections.abc import Callable, Iterable, Mapping

from restow.consumer.checkpoint import Suspect, TableWrite
from restow.consumer.pipeline import Plans
from restow.consumer.planning import Range
from restow.errors import RestowError
from restow.model import TopicPartition
from restow.pipeline.searching import BadOffsets
from restow.pipeline.suspects import CAREFUL_FROM, after_crash, after_store, careful_ranges, killers
from restow.pipeline.targets import Target, by_target
from restow.protocol.topic_service import TopicService

log = logging.getLogger(__name__)

Ranges = Mapping[TopicPartition, Range]


class CrashMemory:
    def __init__(self, plans: Plans) -> None:
        self._plans = plans
        self._suspects: tuple[Suspect, ...] = ()
        self._was_careful = False

    def begin(self, lost: Iterable[TableWrite], now_s: float) -> None:
        """`lost` were running when the previous process ended. It may have been killed for another reason: only the
        second time matters."""
        writes = tuple(lost)
        self._change(lambda known: after_crash(known, writes, now_s), self._read())
        for suspect in self._suspects:
            if suspect.crashes >= CAREFUL_FROM:
                log.warning(
                    "the process ended %d times within ten minutes while %s was stored in the table %s; it is read in "
                    "small pieces until that is over",
                    suspect.crashes,
                    ", ".join(f"{p} from {at} to {suspect.next[p] - 1}" for p, at in suspect.first.items()),
                    suspect.table,
                )

    def carefully(
        self, ranges: Ranges, topics: Mapping[str, TopicService], outputs: Callable[[Target], Iterable[Target]]
    ) -> dict[TopicPartition, Range]:
        """The part of these ranges that the next cycle reads. If some are suspect, cycles alternate between a small
        piece of a suspect range, read alone, and the ranges that are not suspect. `outputs` returns the targets of a
        definition, one for each table."""
        if not any(suspect.crashes >= CAREFUL_FROM for suspect in self._suspects):
            return dict(ranges)
        others, piece = dict(ranges), dict[TopicPartition, Range]()
        for target, partitions in by_target(ranges, topics).items():
            own = {p: ranges[p] for p in partitions}
            pieces = (careful_ranges(self._suspects, each.table, own) for each in outputs(target))
            careful = next((found for found in pieces if found is not None), None)
            if careful is not None:
                piece = piece or careful
                others = {p: taken for p, taken in others.items() if p not in own}
        self._was_careful = bool(piece) and not (self._was_careful and others)
        return piece if self._was_careful else others

    def killers(self, target: Target) -> BadOffsets:
        """Records of a target that crashed the process alone, and may be left out."""
        may_leave_out = target.on_bad.action != "stop"
        return killers(self._suspects, target.table) if self._suspects and may_leave_out else {}

    def stored(self, table: str, ranges: Ranges) -> None:
        if self._suspects:
            self._change(lambda known: after_store(known, table, ranges), self._suspects)

    def _read(self) -> tuple[Suspect, ...]:
        try:
            return self._plans.read_suspects()
        except RestowError as error:
            log.warning("%s; ranges that crashed the process are read as any others", error)
            return ()

    def _change(self, change: Callable[[tuple[Suspect, ...]], tuple[Suspect, ...]], known: tuple[Suspect, ...]) -> None:
        self._suspects = change(known)
        if self._suspects == known:
            return
        try:
            self._plans.write_suspects(self._suspects)
        except RestowError as error:
            log.warning("%s; after a crash this range is read as any other", error)
