"""Only valid commands change what is read."""

from dataclasses import replace

import pytest
from tests.support.simulator.checking import ONE, ORDINARY, TABLE, P, Said, change, process, start

from restow.consumer import machine as consumer_machine
from restow.consumer.checkpoint import Checkpoint
from restow.consumer.effects import ChangeAssignment, RunCycle
from restow.model import SortedMapping, TopicPartition
from restow.protocol.field_types import StartFrom
from restow.protocol.messages.commands import StartConsumingCommand, StateQuery, StopConsumingCommand
from restow.protocol.topic_service import TopicService
from restow.simulator.checkers.commands import OnlyValidCommands
from restow.simulator.checkers.crashes import OnlyGranted
from restow.simulator.checkers.one_reader import OneReader
from restow.simulator.checkers.progress import Runaway
from restow.simulator.consumer import ConsumerProcess
from restow.simulator.world import World


class TestOnlyValidCommands:
    @pytest.fixture
    def said(self) -> Said:
        return Said()

    @pytest.fixture
    def checker(self, said: Said) -> OnlyValidCommands:
        return OnlyValidCommands(said, OnlyGranted(said), OneReader(said))

    @pytest.fixture
    def one(self, checker: OnlyValidCommands, world: World) -> ConsumerProcess:
        found = process(world, ONE, 20)
        found.begin()
        found.incarnation = 20
        checker.ready(found)
        return found

    def test_a_command_is_obeyed_once(self, checker: OnlyValidCommands, said: Said, one: ConsumerProcess) -> None:
        checker.commanded(one, start())
        checker.changing(one, change(starts=True))
        assert said == []
        checker.commanded(one, start())
        checker.changing(one, change(starts=True))
        assert said == [5]

    @pytest.mark.parametrize("command", [start(incarnation=19), start(epoch=4)])
    def test_a_command_to_another_or_of_an_old_epoch_is_not_obeyed(
        self, checker: OnlyValidCommands, said: Said, one: ConsumerProcess, command: StartConsumingCommand
    ) -> None:
        checker.queried(one, StateQuery(5, 1))
        checker.commanded(one, command)
        checker.changing(one, change(starts=True))
        assert said == [5]

    def test_nothing_is_stopped_without_a_word(
        self, checker: OnlyValidCommands, said: Said, one: ConsumerProcess
    ) -> None:
        checker.changing(one, change(starts=False))
        assert said == [5]
        checker.commanded(one, StopConsumingCommand(5, 2, 20, (P,)))
        checker.changing(one, change(starts=False))
        assert said == [5]

    def test_what_the_volume_has_may_go_on(self, checker: OnlyValidCommands, said: Said, world: World) -> None:
        saved = Checkpoint(
            ONE, epoch=5, clean=False, positions=SortedMapping({P: 7}), topics=SortedMapping({P.topic: TABLE})
        )
        one = process(world, ONE, 20, saved)
        checker.ready(one)
        checker.changing(one, change(starts=True))
        assert said == []

    @pytest.mark.parametrize(
        ("waits_s", "service", "lines"),
        [(9.0, TABLE, [5]), (10.0, TABLE, []), (10.0, ORDINARY, [5])],
        ids=["too-early", "no-controller", "unprotected"],
    )
    def test_what_is_claimed_is_resumed_only_where_it_is_safe_and_no_controller_answers(
        self,
        checker: OnlyValidCommands,
        said: Said,
        world: World,
        waits_s: float,
        service: TopicService,
        lines: list[int],
    ) -> None:
        topics, start_from = SortedMapping({P.topic: service}), dict[TopicPartition, StartFrom]({P: "recover"})
        one = process(world, ONE, 20, Checkpoint(ONE, 5, False, SortedMapping({P: 7}), topics, will_claim=True))
        checker.ready(one)
        world.agenda.run_until(waits_s * world.scenario.consumer.resume_after_s / 10)
        checker.changing(one, ChangeAssignment((), SortedMapping(start_from), topics))
        assert said == lines

    @pytest.mark.parametrize(
        ("reads", "is_waiting", "lines"),
        [(1, True, []), (1, False, [5]), (2, True, [5])],
        ids=["void", "carried-out", "carried-out-and-its-repeat-is-void"],
    )
    def test_a_claim_is_open_again_if_its_answer_became_void(
        self, checker: OnlyValidCommands, said: Said, world: World, reads: int, is_waiting: bool, lines: list[int]
    ) -> None:
        """A newer controller was heard of while the Stop waited for the end of a cycle."""
        topics, start_from = SortedMapping({P.topic: TABLE}), dict[TopicPartition, StartFrom]({P: "recover"})
        saved = Checkpoint(ONE, 5, False, SortedMapping({P: 7}), topics, will_claim=True)
        one = process(world, ONE, 20, saved)
        checker.ready(one)
        stop = StopConsumingCommand(5, 1, 20, (P,))
        one.state, _ = consumer_machine.begin(ONE, saved, 8.0)
        for _ in range(reads):
            checker.commanded(one, stop)
        one.state = replace(one.state, waiting=(stop,) if is_waiting else ())
        checker.queried(one, StateQuery(6, 1))
        world.agenda.run_until(world.scenario.consumer.resume_after_s)
        checker.changing(one, ChangeAssignment((), SortedMapping(start_from), topics))
        assert said == lines

    def test_what_was_taken_over_is_not_read_on(
        self, checker: OnlyValidCommands, said: Said, one: ConsumerProcess
    ) -> None:
        with pytest.raises(Runaway):
            checker.reading(one, RunCycle(SortedMapping({P: 7}), SortedMapping({P.topic: TABLE})))
        assert said == [1]
