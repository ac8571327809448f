"""The checker of commands: a stale or repeated one changes nothing."""

from typing import TYPE_CHECKING

from restow.consumer.effects import ChangeAssignment, RunCycle
from restow.model import TopicPartition
from restow.protocol.messages.commands import StartConsumingCommand, StateQuery
from restow.protocol.messages.unions import Command
from restow.simulator.checkers.crashes import OnlyGranted
from restow.simulator.checkers.one_reader import OneReader
from restow.simulator.checkers.progress import Runaway
from restow.simulator.checkers.report import Report

if TYPE_CHECKING:
    from restow.simulator.consumer import ConsumerProcess


class OnlyValidCommands:
    """A consumer changes what it reads only by a command of the newest epoch to its incarnation, read for the first
    time; by its checkpoint, which it may only claim if its controllers answer claims; or because it shuts down."""

    def __init__(self, report: Report, granted: OnlyGranted, one_reader: OneReader) -> None:
        self._report, self._granted, self._one_reader = report, granted, one_reader
        self._words: dict[ConsumerProcess, dict[TopicPartition, str]] = {}
        self._epoch: dict[ConsumerProcess, int] = {}
        self._read: dict[ConsumerProcess, set[tuple[int, int]]] = {}

    def ready(self, process: "ConsumerProcess") -> None:
        saved = process.volume.saved
        resumes = saved is not None and not saved.will_claim
        self._words[process] = dict.fromkeys(saved.positions, "start") if saved is not None and resumes else {}
        self._granted.ready(process)
        self._epoch[process] = 0 if saved is None else saved.epoch
        self._read[process] = set()

    def commanded(self, process: "ConsumerProcess", command: Command) -> None:
        number = (command.epoch, command.sequence)
        is_meant = command.incarnation == process.incarnation and command.epoch >= self._epoch[process]
        if not is_meant:
            return
        if number in self._read[process]:
            if process.state is not None and command not in process.state.waiting:
                self._granted.carried_out(process, command)
            return
        self._raise(process, command.epoch)
        self._read[process].add(number)
        word = "start" if isinstance(command, StartConsumingCommand) else "stop"
        self._words[process].update(dict.fromkeys(command.partitions, word))
        self._granted.heard(process, command)

    def queried(self, process: "ConsumerProcess", query: StateQuery) -> None:
        if query.epoch >= self._epoch[process]:
            self._granted.heard(process)
        self._raise(process, query.epoch)

    def changing(self, process: "ConsumerProcess", change: ChangeAssignment) -> None:
        words = self._words[process]
        for partition in change.start:
            if words.get(partition) == "start":
                continue
            if self._granted.may_resume(process, partition, change.topics[partition.topic]):
                self._one_reader.resumed(process, partition)
                process.world.coverage.claims.add("resumed")
            else:
                self._report(5, f"consumer {process.number} starts {partition} without a valid command")
        if process.state is not None and not process.state.ending:
            for partition in change.stop:
                if words.get(partition) != "stop" and partition not in change.start:
                    self._report(5, f"consumer {process.number} stops {partition} without a valid command")
        for partition in (*change.start, *change.stop):
            words.pop(partition, None)

    def reading(self, process: "ConsumerProcess", cycle: RunCycle) -> None:
        if cycle.positions.keys() <= process.positions.keys():
            return
        for partition in cycle.positions:
            if partition not in process.positions:
                self._report(1, f"consumer {process.number} goes on reading {partition}, which it has lost to another")
                raise Runaway

    def died(self, process: "ConsumerProcess") -> None:
        for known in (self._words, self._epoch, self._read):
            known.pop(process, None)
        self._granted.died(process)

    def _raise(self, process: "ConsumerProcess", epoch: int) -> None:
        """A new controller: commands of the one before that were not applied yet are void."""
        if epoch > self._epoch[process]:
            self._epoch[process] = epoch
            self._words[process].clear()
            self._granted.voided(process, () if process.state is None else process.state.waiting)
