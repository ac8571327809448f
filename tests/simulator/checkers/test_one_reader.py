"""Two consumers must not read one partition."""

import random

import pytest
from tests.support.simulator.checking import ONE, ORDINARY, TWO, P, Said, lost, process, start

from restow.consumer.checkpoint import Checkpoint
from restow.model import SortedMapping
from restow.protocol.consumer_settings import ConsumerSettings
from restow.simulator.checkers.one_reader import OneReader
from restow.simulator.consumer import ConsumerProcess, Volume
from restow.simulator.controller import ControllerProcess
from restow.simulator.world import World


class TestOneReader:
    @pytest.fixture
    def said(self) -> Said:
        return Said()

    @pytest.fixture
    def checker(self, said: Said) -> OneReader:
        return OneReader(said)

    def test_a_start_while_another_reads_is_seen_twice(
        self, checker: OneReader, said: Said, world: World, controller: ControllerProcess
    ) -> None:
        checker.held(process(world, ONE, 10), P)
        checker.started(controller, TWO, start())
        assert said == [1]
        checker.held(process(world, TWO, 20), P)
        assert said == [1, 1]

    @pytest.mark.parametrize(("silent_s", "lines"), [(60.0, []), (5.0, [1])], ids=["silent-long-enough", "not-silent"])
    def test_a_process_that_starts_where_the_group_was_is_excused_after_a_silence(
        self, checker: OneReader, said: Said, world: World, silent_s: float, lines: list[int]
    ) -> None:
        former = world.move()
        former.sent_s[ONE] = 0.0
        world.agenda.run_until(silent_s)
        checker.held(process(world, ONE, 20), P)
        again = ConsumerProcess(world, ONE, Volume(), ConsumerSettings(), random.Random(1), former)
        checker.held(again, P)
        assert said == lines

    def test_so_is_the_successor_of_a_process_that_came_back_after_such_a_silence(
        self, checker: OneReader, said: Said, world: World
    ) -> None:
        former = world.move()
        world.agenda.run_until(60.0)
        former.sent_s[ONE] = 60.0
        former.seemed_ended.add(ONE)
        checker.held(process(world, ONE, 20), P)
        checker.held(ConsumerProcess(world, ONE, Volume(), ConsumerSettings(), random.Random(1), former), P)
        assert said == []

    def test_a_start_after_the_stop_is_well(
        self, checker: OneReader, said: Said, world: World, controller: ControllerProcess
    ) -> None:
        one = process(world, ONE, 10)
        checker.held(one, P)
        checker.released(one, P)
        checker.started(controller, TWO, start())
        checker.held(process(world, TWO, 20), P)
        assert said == []

    def test_a_lost_consumer_stays_excused_when_another_process_of_its_number_stops(
        self, checker: OneReader, said: Said, world: World, controller: ControllerProcess
    ) -> None:
        before = process(world, ONE, 5)
        before.is_disowned = True
        checker.held(before, P)
        lost(controller, ONE)
        checker.started(controller, TWO, start())
        checker.held(process(world, TWO, 20), P)
        checker.released(before, P)
        checker.held(process(world, ONE, 10), P)
        assert said == []

    def test_a_lost_consumer_may_read_on_where_its_table_refuses_late_writes(
        self, checker: OneReader, said: Said, world: World, controller: ControllerProcess
    ) -> None:
        checker.held(process(world, ONE, 10), P)
        lost(controller, ONE)
        checker.started(controller, TWO, start())
        checker.held(process(world, TWO, 20), P)
        assert said == []

    @pytest.mark.parametrize(("is_saved", "lines"), [(False, []), (True, [1])])
    def test_a_lost_consumer_comes_back_with_what_its_checkpoint_has(
        self,
        checker: OneReader,
        said: Said,
        world: World,
        controller: ControllerProcess,
        is_saved: bool,
        lines: list[int],
    ) -> None:
        one = process(world, ONE, 10, Checkpoint(ONE, positions=SortedMapping({P: 7})))
        checker.held(one, P)
        lost(controller, ONE)
        checker.started(controller, TWO, start())
        checker.held(process(world, TWO, 20), P)
        checker.released(one, P)
        if is_saved:
            one.volume.saved = Checkpoint(ONE)
            checker.saved(one)
        again = process(world, ONE, 30, one.volume.saved)
        checker.ready(again)
        checker.held(again, P)
        assert said == lines

    def test_but_not_where_the_sink_takes_everything(
        self, checker: OneReader, said: Said, world: World, controller: ControllerProcess
    ) -> None:
        checker.held(process(world, ONE, 10), P)
        lost(controller, ONE)
        checker.started(controller, TWO, start(service=ORDINARY))
        assert said == [1]

    def test_a_consumer_that_the_platform_reported_gone_is_excused(
        self, checker: OneReader, said: Said, world: World, controller: ControllerProcess
    ) -> None:
        one = process(world, ONE, 10)
        checker.held(one, P)
        one.is_disowned = True
        checker.started(controller, TWO, start(service=ORDINARY))
        checker.held(process(world, TWO, 20), P)
        assert said == []
