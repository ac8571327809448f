"""Each checker sees what it is there for, and nothing in what is allowed."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from restow.consumer import machine as consumer_machine
from restow.consumer.checkpoint import Checkpoint
from restow.consumer.effects import ChangeAssignment, RunCycle
from restow.controller.events import SpeedsMeasured
from restow.controller.state import State, View
from restow.controller.transitions import Phase
from restow.model import ConsumerId, SortedMapping, Speeds, TopicPartition
from restow.platform.interface import DeleteConsumer, RestartConsumer
from restow.protocol.channels import MeasurementReader
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.field_types import StartFrom
from restow.protocol.measurement import Measurement
from restow.protocol.messages.commands import StartConsumingCommand, StateQuery, StopConsumingCommand
from restow.protocol.messages.controller_events import ControllerAlive, PlatformChangeIntended
from restow.protocol.messages.desired import ConsumerRestart
from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.topic_service import TopicService
from restow.simulator.checkers import (
    LATE_S,
    NothingLost,
    OneInCharge,
    OneReader,
    OnlyIntended,
    OnlyMeasured,
    OnlyOurs,
    OnlyValidCommands,
    Runaway,
    TakenOnce,
)
from restow.simulator.consumer import BROKEN_CODE, BROKEN_TRANSFORM, ConsumerProcess, Volume
from restow.simulator.controller import ControllerProcess
from restow.simulator.crashes import OnlyGranted, PoisonStays
from restow.simulator.granted import RestartedOnce
from restow.simulator.group_size import LeastKept
from restow.simulator.platform import BROKEN_IMAGE, Pod
from restow.simulator.rolls import OneRolls
from restow.simulator.scenario import scenario
from restow.simulator.topics import Topic
from restow.simulator.wire import GROUP, AsBytes, AsValues, Intruder, Measured, Wire, open_measured, parts_of
from restow.simulator.world import World

P = TopicPartition("topic-0", 0)
TABLE = TopicService("lake/topic-0")
ORDINARY = TopicService("lake/topic-0", refuses_late_writes=False)
ONE, TWO = ConsumerId(1), ConsumerId(2)


@pytest.fixture
def world() -> World:
    return World(scenario(1))


@pytest.fixture
def controller(world: World) -> ControllerProcess:
    return ControllerProcess(world, random.Random(1), "one")


class Said(list[int]):
    """The numbers of the lines that were violated."""

    def __call__(self, line: int, words: str) -> None:
        assert words
        self.append(line)


def process(world: World, number: ConsumerId, incarnation: int, saved: Checkpoint | None = None) -> ConsumerProcess:
    found = ConsumerProcess(world, number, Volume(saved), ConsumerSettings(), random.Random(number))
    found.incarnation = incarnation
    world.processes.append(found)
    return found


def start(
    sequence: int = 1, incarnation: int = 20, epoch: int = 5, service: TopicService = TABLE
) -> StartConsumingCommand:
    partitions: SortedMapping[TopicPartition, StartFrom] = SortedMapping({P: 7})
    return StartConsumingCommand(epoch, sequence, incarnation, SortedMapping({P.topic: service}), partitions)


def change(*, starts: bool) -> ChangeAssignment:
    topics = SortedMapping({P.topic: TABLE})
    return ChangeAssignment(() if starts else (P,), SortedMapping({P: 7} if starts else {}), topics)


def lost(controller: ControllerProcess, number: ConsumerId) -> None:
    controller.state = replace(controller.state, consumers={number: View(Phase.LOST, 0.0, 0.0)})


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


@pytest.mark.parametrize(("first", "lines"), [(10, []), (5, [2]), (11, [2])])
def test_a_table_takes_each_offset_once_and_skips_none(world: World, first: int, lines: list[int]) -> None:
    said = Said()
    checker = TakenOnce(said)
    one = process(world, ONE, 10)
    checker.stored(one, P, TABLE, 0, 10)
    checker.stored(one, P, TABLE, first, 20)
    assert said == lines


@pytest.mark.parametrize(("service", "first", "lines"), [(ORDINARY, 5, []), (ORDINARY, 11, [3]), (TABLE, 11, [2])])
def test_repeats_are_allowed_in_an_ordinary_sink_and_gaps_nowhere(
    world: World, service: TopicService, first: int, lines: list[int]
) -> None:
    said = Said()
    checker = NothingLost(said)
    one = process(world, ONE, 10)
    checker.begun(P, service, 0)
    checker.stored(one, P, service, 0, 10)
    checker.stored(one, P, service, first, 20)
    assert said == lines


def test_what_is_before_the_start_of_a_topic_that_begins_at_its_end_is_not_lost(world: World) -> None:
    said = Said()
    checker = NothingLost(said)
    checker.begun(P, TopicService(start="latest"), 50)
    checker.stored(process(world, ONE, 10), P, TABLE, 50, 60)
    checker.begun(TopicPartition("topic-0", 1), TABLE, 50)
    checker.stored(process(world, ONE, 10), TopicPartition("topic-0", 1), TABLE, 50, 60)
    assert said == [2]


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

    @pytest.mark.parametrize(("is_waiting", "lines"), [(True, []), (False, [5])], ids=["void", "carried-out"])
    def test_a_claim_is_open_again_if_its_answer_became_void(
        self, checker: OnlyValidCommands, said: Said, world: World, is_waiting: bool, lines: list[int]
    ) -> None:
        """A newer controller was heard of while the Stop waited for the end of a cycle."""
        topics, start_from = SortedMapping({P.topic: TABLE}), dict[TopicPartition, StartFrom]({P: "recover"})
        saved = Checkpoint(ONE, 5, False, SortedMapping({P: 7}), topics, will_claim=True)
        one = process(world, ONE, 20, saved)
        checker.ready(one)
        stop = StopConsumingCommand(5, 1, 20, (P,))
        checker.commanded(one, stop)
        state, _ = consumer_machine.begin(ONE, saved, 8.0)
        one.state = replace(state, waiting=(stop,) if is_waiting else ())
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


def poison_killed(world: World, controller: ControllerProcess, said: Said) -> PoisonStays:
    """Consumer 1 has crashed; a record of its partition kills whoever reads it until 200 s."""
    world.agenda.run_until(100.0)
    world.platform.pods[ONE] = Pod(ONE, ConsumerSettings(), "")
    world.poison[P] = (7, 200.0)
    controller.state = replace(controller.state, consumers={ONE: View(Phase.CRASHED, 0.0, 0.0)})
    return PoisonStays(said)


def test_poison_is_handed_to_no_other_consumer(world: World, controller: ControllerProcess) -> None:
    said = Said()
    checker = poison_killed(world, controller, said)
    for _ in range(3):
        checker.started(controller, TWO, start())
        assert said == []
        checker.died(process(world, ONE, 20), P, 7)
    checker.started(controller, ONE, start())
    assert said == []
    checker.started(controller, TWO, start())
    assert said == [4]
    world.agenda.run_until(200.0)
    checker.started(controller, TWO, start())
    assert said == [4], "the record is harmless by then"


def test_deaths_where_the_group_was_are_unknown_to_its_new_controllers(world: World) -> None:
    said, former = Said(), world.move()
    controller = ControllerProcess(world, random.Random(1), "two")
    checker = poison_killed(world, controller, said)
    for _ in range(2):
        checker.died(ConsumerProcess(world, ONE, Volume(), ConsumerSettings(), random.Random(1), former), P, 7)
    checker.died(process(world, ONE, 20), P, 7)
    checker.started(controller, TWO, start())
    assert said == []
    for _ in range(2):
        checker.died(process(world, ONE, 20), P, 7)
    checker.started(controller, TWO, start())
    assert said == [4]


def test_poison_goes_to_another_consumer_when_its_own_was_replaced(world: World, controller: ControllerProcess) -> None:
    said = Said()
    checker = poison_killed(world, controller, said)
    for _ in range(3):
        checker.died(process(world, ONE, 20), P, 7)
    world.platform.pods[ONE] = Pod(ONE, ConsumerSettings(), "")
    checker.started(controller, TWO, start())
    assert said == []


def test_the_death_of_a_process_that_was_reported_gone_is_unknown(world: World, controller: ControllerProcess) -> None:
    said = Said()
    checker = poison_killed(world, controller, said)
    for _ in range(2):
        checker.died(process(world, ONE, 20), P, 7)
    gone = process(world, ONE, 20)
    gone.is_disowned = True
    checker.died(gone, P, 7)
    checker.started(controller, TWO, start())
    assert said == []


def test_poison_that_every_consumer_refuses_unread_may_be_offered_to_any(
    world: World, controller: ControllerProcess
) -> None:
    said = Said()
    checker = poison_killed(world, controller, said)
    for _ in range(3):
        checker.died(process(world, ONE, 20), P, 7)
    checker.started(controller, TWO, start(service=replace(TABLE, transform=BROKEN_TRANSFORM)))
    checker.started(controller, TWO, start())
    assert said == [], "the deaths before it no longer count"


def test_the_platform_is_touched_only_after_the_intention_is_committed(controller: ControllerProcess) -> None:
    said = Said()
    checker = OnlyIntended(said)
    checker.intended(controller, PlatformChangeIntended(5, delete=(ONE,)))
    checker.requested(controller, DeleteConsumer(ONE))
    assert said == []
    checker.requested(controller, DeleteConsumer(TWO))
    assert said == [5]


def test_a_bad_measurement_must_change_nothing(controller: ControllerProcess) -> None:
    said = Said()
    checker = OnlyMeasured(said)
    good, bad = (SpeedsMeasured(f"2026-03-01T00:00:0{n}Z", Speeds({P: speed})) for n, speed in ((1, 10.0), (2, 1e15)))
    before = replace(State(controller.state.rules), measured=good, now_s=1.0)
    checker.measured(Measured(bad, is_nonsense=True), before, before)
    assert said == []
    checker.measured(Measured(bad, is_nonsense=True), before, replace(before, measured=bad))
    assert said == [5, 5]


def test_a_partition_that_was_not_measured_is_not_idle(controller: ControllerProcess) -> None:
    said = Said()
    checker = OnlyMeasured(said)
    whole = SpeedsMeasured("2026-03-01T00:00:01Z", Speeds({P: 10.0, P._replace(partition=1): 5.0}))
    part = SpeedsMeasured("2026-03-01T00:00:02Z", Speeds({P: 10.0}))
    before = replace(State(controller.state.rules), measured=whole, now_s=1.0)
    checker.measured(Measured(part), before, replace(before, measured=part))
    assert said == [5]


def test_a_measurement_must_be_as_the_monitor_sent_it(controller: ControllerProcess) -> None:
    said = Said()
    checker, before = OnlyMeasured(said), State(controller.state.rules)
    sent = SpeedsMeasured("2026-03-01T00:00:01Z", Speeds({TopicPartition("a", number): 1.0 for number in range(9)}))
    parts, reader = parts_of(Measured(sent), "monitor/1"), MeasurementReader(GROUP)
    assert len(parts) > 1
    *early, whole = [open_measured(offset, part, reader) for offset, part in enumerate(parts)]
    assert early == [None] * len(early)
    assert whole is not None
    checker.measured(whole, before, before)
    assert said == []
    checker.measured(replace(whole, event=replace(sent, speeds=Speeds())), before, before)
    assert said == [5]


def test_a_message_of_another_group_must_not_be_read() -> None:
    said = Said()
    checker = OnlyOurs(said)
    query = StateQuery(5, 1)
    checker.opened(AsBytes().seal(query), query)
    checker.opened(Intruder.saying(query), None)
    assert said == []
    checker.opened(Intruder.saying(query), query)
    assert said == [5]


@pytest.mark.parametrize("wire", [AsBytes(), AsValues()])
def test_a_record_of_another_group_is_opened_as_nothing(wire: Wire) -> None:
    query, speeds = StateQuery(5, 1), Measurement("2026-03-01T00:00:01Z", 30.0, SortedMapping())
    assert wire.open(Topic.QUERY, 1, 0, wire.seal(query)) == query
    assert wire.open(Topic.QUERY, 1, 1, Intruder.saying(query)) is None
    assert open_measured(2, Intruder.saying(speeds), MeasurementReader(GROUP)) is None


class TestOneRolls:
    @pytest.fixture
    def said(self) -> Said:
        return Said()

    @pytest.fixture
    def checker(self, said: Said) -> OneRolls:
        return OneRolls(said)

    @pytest.fixture
    def rolls(self, world: World, controller: ControllerProcess, checker: OneRolls) -> Callable[..., Pod]:
        """The controller in charge restarts a consumer with new settings, and the platform has taken that."""
        world.kafka.take_over(controller)

        def roll(
            number: ConsumerId,
            image: str = "restow:2",
            phase: Phase = Phase.ROLLING,
            process: ConsumerProcess | None = None,
        ) -> Pod:
            settings = ConsumerSettings(image)
            pod = Pod(number, settings, settings.fingerprint, process)
            world.platform.pods[number] = pod
            controller.state = replace(controller.state, consumers={number: View(phase, 0.0, 0.0)})
            checker.requested(controller, RestartConsumer(number, settings))
            return pod

        return roll

    def ready(self, checker: OneRolls, world: World, number: ConsumerId, image: str = "restow:2") -> None:
        one = process(world, number, 10)
        one.settings = ConsumerSettings(image)
        checker.ready(one)

    def test_two_at_once_are_seen(self, said: Said, rolls: Callable[..., Pod]) -> None:
        rolls(ONE)
        rolls(TWO)
        assert said == [4]

    def test_the_next_may_follow_when_the_first_is_ready_with_its_new_settings(
        self, checker: OneRolls, said: Said, world: World, rolls: Callable[..., Pod]
    ) -> None:
        rolls(ONE)
        self.ready(checker, world, ONE, image="restow:1")
        rolls(TWO)
        assert said == [4]
        self.ready(checker, world, ONE)
        rolls(TWO)
        assert said == [4]

    def test_the_next_may_follow_when_the_first_leaves_or_is_gone(
        self, said: Said, world: World, rolls: Callable[..., Pod]
    ) -> None:
        rolls(ONE).leaving = True
        rolls(TWO)
        del world.platform.pods[TWO]
        rolls(ConsumerId(3))
        assert said == []

    def test_a_restart_because_of_a_failure_is_none(self, said: Said, rolls: Callable[..., Pod]) -> None:
        rolls(ONE)
        rolls(TWO, phase=Phase.RESTARTED)
        assert said == []

    def test_bad_settings_may_be_tried_with_one_and_again_where_that_one_was_taken_away(
        self, said: Said, world: World, rolls: Callable[..., Pod]
    ) -> None:
        first = rolls(ONE, BROKEN_IMAGE)
        del world.platform.pods[ONE]
        first.is_lost = True
        rolls(TWO, BROKEN_IMAGE)
        assert said == []
        first.is_lost = False
        rolls(TWO, BROKEN_IMAGE)
        assert said == [4]

    def test_broken_code_may_be_tried_with_one(
        self, checker: OneRolls, said: Said, world: World, rolls: Callable[..., Pod]
    ) -> None:
        world.change_code(f"{BROKEN_CODE}:1")
        rolls(ONE)
        self.ready(checker, world, ONE)
        two = process(world, TWO, 10)
        rolls(TWO, process=two)
        assert said == [], "it reads nothing that the code would have to run"
        self.ready(checker, world, TWO)
        two.positions = {next(iter(world.data.partitions)): 0}
        rolls(TWO, process=two)
        assert said == [4]

    def test_older_code_is_seen(self, checker: OneRolls, said: Said, world: World) -> None:
        one = process(world, ONE, 10)
        one.settings = replace(world.settings, code=world.code)
        one.code = world.code
        checker.end(world)
        assert said == []
        one.code = "code:older"
        checker.end(world)
        assert said == [4]

    def test_older_settings_are_seen_after_a_quiet_that_was_long_enough(
        self, checker: OneRolls, said: Said, world: World, rolls: Callable[..., Pod]
    ) -> None:
        rolls(ONE)
        process(world, ONE, 10)
        checker.end(World(scenario(1, hours=0.2)))
        checker.end(world)
        assert said == [4, 4]
        world.update(ServiceUpdate("consumers", consumers=ConsumerSettings("restow:2", memory_mb=2048)))
        assert world.settings == replace(world.scenario.consumer.settings, image="restow:2", memory_mb=2048)


# The least number of consumers.


@pytest.mark.parametrize(
    ("least", "failures", "waited_s", "said"),
    [
        pytest.param(2, 0, 100.0, [4], id="one-is-late-and-needed"),
        pytest.param(1, 0, 100.0, [], id="the-other-is-enough"),
        pytest.param(2, 1, 100.0, [], id="its-start-failed"),
        pytest.param(2, 0, 1000.0, [], id="it-was-waited-for"),
    ],
)
def test_a_late_consumer_that_is_needed_may_not_be_deleted(
    world: World, controller: ControllerProcess, least: int, failures: int, waited_s: float, said: list[int]
) -> None:
    chosen = replace(world.rules.controller, least_consumers=least, ready_within_s=60.0)
    world.rules = replace(world.rules, controller=chosen)
    world.agenda.run_until(waited_s)
    world.platform.pods[TWO] = Pod(TWO, ConsumerSettings(), "", failures=failures)
    views = {ONE: View(Phase.READY, 0.0, 0.0, incarnation=1), TWO: View(Phase.LEAVING, 0.0, 0.0)}
    controller.state = replace(controller.state, rules=world.rules, consumers=views)
    found = Said()
    LeastKept(found).requested(controller, DeleteConsumer(TWO))
    assert found == said


class TestOneInCharge:
    @pytest.fixture
    def said(self) -> Said:
        return Said()

    @pytest.fixture
    def checker(self, said: Said) -> OneInCharge:
        return OneInCharge(said)

    @pytest.fixture
    def second(self, world: World, controller: ControllerProcess) -> ControllerProcess:
        """A second controller, five seconds after a sign of life of the first."""
        world.kafka.take_over(controller)
        controller.epoch = 0
        world.kafka.commit(controller, [(Topic.CONTROLLER, 0, world.wire.seal(ControllerAlive(0, "one")))])
        world.agenda.run_until(5.0)
        return ControllerProcess(world, random.Random(2), "two")

    def test_a_controller_that_gives_signs_of_life_must_not_be_fenced(
        self, checker: OneInCharge, said: Said, second: ControllerProcess
    ) -> None:
        checker.taking_over(second)
        assert said == [4]

    def test_a_dead_or_silent_one_may_be_and_a_person_may_force_it(
        self, checker: OneInCharge, said: Said, controller: ControllerProcess, second: ControllerProcess
    ) -> None:
        second.is_forced = True
        checker.taking_over(second)
        second.is_forced = False
        controller.is_alive = False
        checker.taking_over(second)
        controller.is_alive = True
        second.world.agenda.run_until(30.0)
        checker.taking_over(second)
        assert said == []

    def test_after_the_faults_none_takes_over(
        self, checker: OneInCharge, said: Said, world: World, controller: ControllerProcess
    ) -> None:
        world.agenda.run_until(world.scenario.duration_s - world.scenario.quiet_s + LATE_S - 1)
        checker.taking_over(controller)
        assert said == []
        world.agenda.run_until(world.agenda.now_s + 2)
        checker.taking_over(controller)
        assert said == [4]


@pytest.mark.parametrize(
    ("known", "said"),
    [
        pytest.param(10, [], id="the-process-that-people-want-replaced"),
        pytest.param(30, [4], id="it-was-replaced"),
    ],
)
@pytest.mark.parametrize("later", [None, 10**9], ids=["as-asked", "a-later-record-is-refused"])
def test_a_consumer_is_restarted_once_for_one_record(
    controller: ControllerProcess, known: int, later: int | None, said: list[int]
) -> None:
    controller.world.kafka.take_over(controller)
    view = View(Phase.ROLLING, 0.0, 0.0, incarnation=known, is_asked=True)
    controller.state = replace(controller.state, consumers={ONE: view})
    found = Said()
    checker = RestartedOnce(found)
    for up_to in (10, later):
        checker.asked(ConsumerRestart(ONE, up_to), 0.0)
    checker.requested(controller, RestartConsumer(ONE, ConsumerSettings()))
    assert found == said
