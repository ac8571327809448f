"""Changes each contender's group, round by round, and observes it until it is calm again."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from restow.errors import RestowError
from restow.handover import group, members
from restow.handover.contender import LOOK_S, TOPIC, Case, Contender, Setting
from restow.handover.load import SteadyLoad
from restow.kafka.admin import Admin
from restow.kafka.embedded.broker import EmbeddedKafka
from restow.kafka.membership import BROKER
from restow.kafka.topics import wait_until_shown
from restow.scratch import temporary
from restow.settings import Kafka
from restow.study.handover import (
    KILL,
    LIGHT,
    SPARK,
    Change,
    Observed,
    Progress,
    is_calm,
)

FAST: Final = Case(partitions=32, records_per_s=50.0)
SLOW: Final = Case(partitions=24, records_per_s=10.0, warm_up_s=120.0)
"""Of Spark's consumers, whose cycles are a second long. A group has worked for hours when its load changes; a young JVM
spends its first two minutes on compiling, and takes the cores from the consumer that starts."""
CALM_S: Final = 5.0
"""A group in which all partitions are read and none has moved for so long is calm: longer than the time between two
moves in any protocol."""
WITHIN_S: Final = 300.0
START_WITHIN_S: Final = 300.0
"""The first controller after an update compiles the packer, and the first consumers start."""

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    contender: str
    observed: Observed | None
    """None if it failed: a line said why."""


def run(
    names: Sequence[str], kinds: Sequence[str], rounds: int, tell: Tell, keep: Path | None = None, spares: int = 0
) -> Iterator[Outcome]:
    """One outcome after the other. `keep` gets the directories of the contenders; restow's groups have `spares`."""
    for name in names:
        with temporary(name) as directory, EmbeddedKafka(server=BROKER) as broker:
            place = directory if keep is None else keep / name
            place.mkdir(parents=True, exist_ok=True)
            setting = Setting(Kafka(broker.bootstrap), SLOW if name == SPARK else FAST, place)
            make_topic(setting)
            try:
                yield Outcome(name, observe(name, setting, kinds, rounds, spares, partial(_tell_of, tell, name)))
            except RestowError as error:
                tell(f"{name} is left out: {error}")
                yield Outcome(name, None)


def _tell_of(tell: Tell, name: str, line: str) -> None:
    tell(f"{name}: {line}")


def observe(name: str, setting: Setting, kinds: Sequence[str], rounds: int, spares: int, tell: Tell) -> Observed:
    with SteadyLoad(setting.kafka, setting.case) as load, _running(name, setting, load, spares) as contender:
        observer = Observer(contender, setting.case.partitions)
        tell("waiting until two members read everything")
        observer.until_calm(2, within_s=START_WITHIN_S)
        observer.look_for(setting.case.warm_up_s)
        changes: list[Change] = []
        for number in range(rounds):
            for kind in kinds:
                if changes and changes[-1].kind == KILL:
                    observer.mend()
                changes.append(last := observer.change(kind))
                tell(f"round {number + 1}, {kind}: calm again after {last.until_s - last.at_s:.1f} s")
        produced_s = load.finish()
        copies = observer.until_processed(len(produced_s))
    return Observed(name, changes, observer.progress, produced_s, copies, setting.case.partitions)


def _running(name: str, setting: Setting, load: SteadyLoad, spares: int) -> AbstractContextManager[Contender]:
    return (
        group.running(name, setting, load, spares=spares) if name in (LIGHT, SPARK) else members.running(name, setting)
    )


class Observer:
    def __init__(self, contender: Contender, partitions: int, calm_s: float = CALM_S) -> None:
        self._contender, self._partitions, self._calm_s = contender, partitions, calm_s
        self.progress: list[Progress] = []

    def change(self, kind: str) -> Change:
        """Makes the change, and observes it until the group is calm."""
        at_s = time.time()
        match kind:
            case "join":
                self._contender.join()
                self.until_calm(3, at_s)
            case "leave":
                self._contender.leave()
                self.until_calm(2, at_s)
            case _:
                self._contender.kill()
                self.until_calm(self._contender.owners_after_kill, at_s)
        return Change(kind, at_s, time.time())

    def mend(self) -> None:
        """After a kill: waits until there are two members again."""
        self._contender.mend()
        self.until_calm(self._contender.owners_after_mend)

    def look_for(self, seconds: float) -> None:
        """Lets the group work for a while."""
        until_s = time.time() + seconds
        while time.time() < until_s:
            self._look()

    def until_calm(self, owners: int | None, since_s: float = 0.0, within_s: float = WITHIN_S) -> None:
        """Raises RestowError if the group isn't calm in time."""
        deadline_s = time.time() + within_s
        while True:
            self._look()
            now_s = time.time()
            recent = [each for each in self._latest() if each.time_s > now_s - 4 * self._calm_s]
            if now_s > since_s + self._calm_s and is_calm(recent, self._partitions, now_s, self._calm_s, owners):
                return
            if now_s > deadline_s:
                raise RestowError(f"its group was not calm within {within_s:.0f} s")

    def until_processed(self, each: int) -> dict[tuple[int, int], int]:
        """Waits until every record was processed, or nothing more comes. Returns how often each was."""
        wanted, ends = dict.fromkeys(range(self._partitions), each), {one.partition: one.next for one in self.progress}
        since_s = time.time()
        while ends != wanted and time.time() < since_s + WITHIN_S / 5:
            for new in self._look():
                ends[new.partition], since_s = max(ends.get(new.partition, 0), new.next), time.time()
        return dict(self._contender.copies())

    def _look(self) -> list[Progress]:
        time.sleep(LOOK_S)
        new = self._contender.new_progress()
        self.progress += new
        return new

    def _latest(self) -> list[Progress]:
        """The last pieces: those of the last seconds are among them."""
        return self.progress[-20_000:]


def make_topic(setting: Setting) -> None:
    with Admin(setting.kafka) as admin:
        admin.create_topic(TOPIC, setting.case.partitions)
        wait_until_shown(admin, {TOPIC: setting.case.partitions})
