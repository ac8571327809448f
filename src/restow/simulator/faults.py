"""Faults: what goes wrong, when and for how long, drawn from the seed. All end before the quiet period begins."""

import random
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Final

from restow.controller.transitions import Phase, Stage
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.measurement import Measurement, PartitionSpeed
from restow.protocol.messages.commands import StartConsumingCommand, StateQuery, StopConsumingCommand
from restow.protocol.messages.consumer_events import ConsumerReady, StopConsumingEvent
from restow.protocol.messages.controller_events import ControllerStarted
from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.messages.unions import Message
from restow.protocol.records import known_versions
from restow.protocol.topic_service import TopicService
from restow.simulator.consumer import BROKEN_CODE, BROKEN_TRANSFORM, ConsumerProcess, Volume
from restow.simulator.monitor import time_text
from restow.simulator.platform import BROKEN_IMAGE, Pod
from restow.simulator.scenario import Level
from restow.simulator.topics import Topic
from restow.simulator.wire import Garbage, Intruder

if TYPE_CHECKING:
    from restow.simulator.world import World

FIRST_S: Final = 45.0
EVERY_S: Final = {Level.SOME: 55.0, Level.MANY: 28.0}
MOST_STEPS: Final = 12
"""A process crashes or hangs within this many of its next steps."""
FAR: Final = 10**9
"""An epoch, a sequence and a number of a query beyond this group's: whatever has it looks new."""
GARBAGE: Final = (b"", b"{", b"[]", b"null", b'{"type": "StopConsumingCommand", "version": 99}', b"\xff\xfe", b"0" * 64)


class Fault(StrEnum):
    DELAY = "messages are delayed"
    REPEATS = "records are sent twice"
    REORDERING = "one partition is read late, others aren't"
    CONTROLLER_CRASHES = "the controller crashes"
    CONSUMER_CRASHES = "a consumer crashes"
    MONITOR_CRASHES = "the monitor crashes"
    SLOW_STARTS = "consumers start slowly"
    FAILED_STARTS = "consumers don't start"
    CONSUMER_VANISHES = "a consumer vanishes from the platform"
    CONSUMER_HANGS = "a consumer hangs"
    ZOMBIE = "a consumer that can't be killed hangs and comes back"
    LOST_VOLUME = "a consumer crashes and loses its volume"
    GONE_TOO_EARLY = "the platform reports a consumer gone too early"
    PLATFORM_REFUSES = "the platform refuses requests"
    OUTAGE = "the brokers are down"
    MONITOR_GAP = "no speeds are published"
    NONSENSE = "nonsense is published"
    TWO_CONTROLLERS = "a controller is replaced while it hangs"
    STANDBY = "a second controller is started and waits"
    CONTROLLER_STOPS = "a controller gets SIGTERM"
    BOTH_CONTROLLERS_CRASH = "the controller and its standby crash"
    NEW_PARTITIONS = "a topic gets more partitions"
    TOPIC_REMOVED = "a topic is removed, and added again"
    TOPIC_CHANGED = "a topic's table is changed"
    BROKEN_TRANSFORM = "a topic's transform can't be imported"
    BROKEN_TABLE = "a table can't be opened or written"
    GAP = "records are deleted before they are read"
    NEW_SETTINGS = "the consumers' settings change"
    SETTINGS_IN_A_MOVE = "the consumers' settings change in the middle of a move"
    BAD_SETTINGS = "no consumer starts with the new settings"
    NEW_CODE = "the transforms' modules change"
    BROKEN_CODE = "the transforms' modules can't be imported"
    UNDECODABLE = "undecodable records are on the topics"
    OTHER_GROUP = "another group uses the same topics"
    SIGTERM = "a consumer gets SIGTERM from outside"
    MOVED = "the group's controller is started elsewhere while its consumers run"


class Faults:
    def __init__(self, world: "World", rng: random.Random) -> None:
        self.world, self.rng = world, rng
        self._end_s = world.scenario.duration_s - world.scenario.quiet_s
        self._versions = 0

    def plan(self) -> None:
        """Schedules every kind in turn, in a new order each time, so that a run meets most of them."""
        scenario = self.world.scenario
        if scenario.faults is Level.NONE:
            return
        count = int((self._end_s - FIRST_S) / EVERY_S[scenario.faults])
        times = sorted(self.rng.uniform(FIRST_S, self._end_s - 1) for _ in range(count))
        kinds: list[Fault] = []
        for time_s in times:
            if not kinds:
                kinds = list(Fault)
                self.rng.shuffle(kinds)
            self.world.agenda.at(time_s, partial(self._strike, kinds.pop()))

    def _strike(self, kind: Fault) -> None:
        """Injects this fault, or another one if there is no process it could hit."""
        others = list(Fault)
        self.rng.shuffle(others)
        for each in (kind, *others):
            if self._try(each):
                self.world.coverage.fault(each.name)
                self.world.trace("fault", each.name)
                return

    def _try(self, kind: Fault) -> bool:
        act: Callable[[], bool | None] = getattr(self, f"_{kind.name.lower()}")
        return act() is not False

    # Helpers.

    def _until(self, least_s: float, most_s: float) -> float:
        return min(self.world.agenda.now_s + self.rng.uniform(least_s, most_s), self._end_s)

    def _steps(self) -> int:
        return self.rng.randint(0, MOST_STEPS)

    def _consumer(self) -> ConsumerProcess | None:
        running = [process for process in self.world.processes if process.is_alive and not process.is_disowned]
        pods = self.world.platform.pods
        running = [process for process in running if process.number in pods and not process.is_foreign]
        return self.rng.choice(running) if running else None

    def _topic(self) -> str | None:
        wanted = [topic for topic, service in sorted(self.world.services.items()) if service is not None]
        return self.rng.choice(wanted) if wanted else None

    def _topic_and_service(self) -> tuple[str | None, TopicService | None]:
        """A topic and its wanted definition, without a transform that is broken at the moment."""
        topic = self._topic()
        service = None if topic is None else self.world.services[topic]
        if service is not None and service.transform == BROKEN_TRANSFORM:
            service = replace(service, transform=None)
        return topic, service

    def _later(self, time_s: float, act: Callable[[], None]) -> None:
        self.world.agenda.at(time_s, act)

    def _when(self, condition: Callable[[], object], act: Callable[[], None], until_s: float) -> None:
        """Acts as soon as the condition holds, at `until_s` at the latest."""
        now_s = self.world.agenda.now_s
        if now_s >= until_s or condition():
            act()
        else:
            self._later(min(now_s + 0.5, until_s), lambda: self._when(condition, act, until_s))

    # Kafka.

    def _delay(self) -> None:
        until_s, extra_s = self._until(10, 60), self.rng.uniform(1, 10)
        for place in self.world.kafka.places():
            log = self.world.kafka.log(*place)
            log.extra_until_s, log.extra_delay_s = until_s, extra_s

    def _repeats(self) -> None:
        self.world.kafka.repeats_until_s = self._until(20, 90)

    def _reordering(self) -> bool:
        controller = self.world.controller_in_charge()
        readers = [] if controller is None else controller.readers()
        process = self._consumer()
        if process is not None and process.state is not None:
            readers += [process.commands, process.queries]
        if not readers:
            return False
        self.rng.choice(readers).block(self._until(3, 40))
        return True

    def _outage(self) -> None:
        self.world.kafka.down_until_s = self._until(3, 60)

    def _undecodable(self) -> bool:
        if not self.world.kafka.is_up:
            return False
        for _ in range(self.rng.randint(1, 4)):
            topic, partition = self.rng.choice(self.world.kafka.places())
            self.world.kafka.append(topic, partition, Garbage(self.rng.choice(GARBAGE)))
        return True

    def _other_group(self) -> bool:
        """For some time its processes send what would do the most harm here."""
        if self._consumer() is None:
            return False
        for _ in range(self.rng.randint(4, 10)):
            self._later(self._until(0, 40), self._intrude)
        return True

    def _intrude(self) -> None:
        process, topic = self._consumer(), self._topic()
        held = () if process is None else tuple(sorted(process.positions))
        if process is None or process.incarnation is None or not held or topic is None or not self.world.kafka.is_up:
            return
        number, incarnation = process.number, process.incarnation
        stopped = StopConsumingEvent(number, incarnation, FAR, FAR, SortedMapping(dict.fromkeys(held, None)))
        started = StartConsumingCommand(
            FAR, FAR, incarnation, SortedMapping({topic: TopicService()}), SortedMapping({TopicPartition(topic, 0): 0})
        )
        speeds = {each: PartitionSpeed(1e9, 1e9, 1.0, 0, 0, estimated=False) for each in self.world.data.partitions}
        records: list[tuple[Topic, int, Message | Measurement]] = [
            (Topic.CONTROLLER, 0, ControllerStarted("intruder")),
            (Topic.CONTROLLER, 0, ConsumerReady(number, True, (), SortedMapping(), known_versions())),
            (Topic.CONTROLLER, 0, stopped),
            (Topic.CONTROLLER, number, StopConsumingCommand(FAR, FAR, incarnation, held)),
            (Topic.CONTROLLER, number, started),
            (Topic.QUERY, number, StateQuery(FAR, FAR)),
            (Topic.SERVICE, 0, ServiceUpdate("remove", topic)),
            (Topic.MONITOR, 0, Measurement(time_text(self.world.agenda.now_s), 30.0, SortedMapping(speeds))),
        ]
        place, partition, message = self.rng.choice(records)
        self.world.kafka.append(place, partition, Intruder.saying(message))

    # Processes.

    def _controller_crashes(self) -> bool:
        controller = self.world.controller_in_charge()
        if controller is None:
            return False
        controller.inject(controller.die, self._steps())
        return True

    def _two_controllers(self) -> bool:
        controller = self.world.controller_in_charge()
        if controller is None:
            return False
        until_s = self._until(4, 90)  # shorter than the silence limit, and longer
        is_forced = self.rng.random() < 0.3

        def replace_it() -> None:
            controller.freeze(until_s)
            has_moved = self.world.former is not None and self.world.former.pods
            self.world.start_controller(is_forced and not has_moved)

        controller.inject(replace_it, self._steps())
        return True

    def _standby(self) -> bool:
        """A supervisor keeps two controllers running from now on; one of them may hang for a while."""
        if len(self.world.standbys()) > 1:
            return False
        self.world.wanted_controllers = 2
        self.world.start_controller()
        if self.rng.random() < 0.5:
            until_s = self._until(5, 60)
            self._later(self._until(1, 30), lambda: self._freeze_standbys(until_s))
        return True

    def _freeze_standbys(self, until_s: float) -> None:
        for standby in self.world.standbys():
            standby.freeze(until_s)

    def _controller_stops(self) -> bool:
        running = [each for each in self.world.controllers if each.is_alive]
        if not running:
            return False
        self.rng.choice(running).should_stop = True
        return True

    def _both_controllers_crash(self) -> bool:
        controller, standbys = self.world.controller_in_charge(), self.world.standbys()
        if controller is None or not standbys:
            return False

        def crash() -> None:
            for each in (controller, *standbys):
                each.die()

        controller.inject(crash, self._steps())
        return True

    def _monitor_crashes(self) -> None:
        self.world.monitor.inject(self.world.monitor.die, self.rng.randint(0, 2))

    def _monitor_gap(self) -> None:
        self.world.monitor.silent_until_s = self._until(20, 120)

    def _nonsense(self) -> None:
        self.world.monitor.nonsense_until_s = self._until(10, 60)

    def _consumer_crashes(self) -> bool:
        process = self._consumer()
        if process is None:
            return False
        process.inject(process.die, self._steps())
        return True

    def _lost_volume(self) -> bool:
        process = self._consumer()
        if process is None:
            return False

        def lose() -> None:
            self.world.volumes[process.number] = Volume()
            process.die()

        process.inject(lose, self._steps())
        return True

    def _consumer_hangs(self) -> bool:
        process = self._consumer()
        if process is None:
            return False
        until_s = self._until(15, 200)
        process.inject(lambda: process.freeze(until_s), self._steps())
        return True

    def _zombie(self) -> bool:
        process = self._consumer()
        if process is None:
            return False
        pod = self.world.platform.pods[process.number]
        pod.stuck_until_s = self._until(120, 400)
        until_s = min(pod.stuck_until_s, self._until(60, 300))
        process.inject(lambda: process.freeze(until_s), self._steps())
        return True

    def _sigterm(self) -> bool:
        process = self._consumer()
        if process is None:
            return False
        process.terminate()
        return True

    def _moved(self) -> bool:
        """A copied restow.toml. After a while a person notices, and ends the first set of consumers."""
        if self.world.former is not None and self.world.former.pods:
            return False
        former = self.world.move()
        self._later(self._until(20, 120), former.end_all)
        return True

    # The platform.

    def _slow_starts(self) -> None:
        """A group with a least number of consumers also loses one, so that it has to start another."""
        self.world.platform.slow_until_s = self._until(30, 120)
        pods = self.world.platform.pods
        if self.world.rules.controller.least_consumers and pods:
            self.world.platform.vanish(self.rng.choice(sorted(pods)))

    def _failed_starts(self) -> None:
        self.world.platform.fails_until_s = self._until(20, 90)

    def _platform_refuses(self) -> None:
        self.world.platform.refuses_until_s = self._until(10, 60)

    def _consumer_vanishes(self) -> bool:
        """Any consumer, and those that are created soon after; or one in a roll; or one that hangs while a new
        controller waits for its answer."""
        pods = self.world.platform.pods
        if not pods:
            return False
        if self.rng.random() < 0.25:
            self._change_settings()
            self._when(self._rolling, self._vanish_rolling, until_s=self._until(30, 90))
            return True
        pod = pods[self.rng.choice(sorted(pods))]
        controller, process = self.world.controller_in_charge(), pod.process
        if controller is None or not isinstance(process, ConsumerProcess) or self.rng.random() < 0.6:
            self.world.platform.vanish(pod.consumer)
            self.world.platform.loses_new_until_s = self._until(2, 10)
            return True
        process.freeze(self._until(60, 90))
        controller.die()
        self._later(
            self._until(22, 30), lambda: self.world.platform.vanish(pod.consumer) if self._exists(pod) else None
        )
        return True

    def _rolling(self) -> ConsumerId | None:
        """The consumer in a roll that is not ready yet; None if there is none."""
        controller = self.world.controller_in_charge()
        views = {} if controller is None else controller.state.consumers
        rolling = (number for number, view in views.items() if view.phase is Phase.ROLLING)
        return next((number for number in rolling if number in self.world.platform.pods), None)

    def _vanish_rolling(self) -> None:
        consumer = self._rolling()
        if consumer is not None:
            self.world.platform.vanish(consumer)

    def _exists(self, pod: Pod) -> bool:
        return self.world.platform.pods.get(pod.consumer) is pod

    def _gone_too_early(self) -> bool:
        process = self._consumer()
        if process is None:
            return False
        self.world.platform.disown(process.number)
        self.world.disowned.append(process)
        if self.rng.random() < 0.5:
            process.freeze(self._until(5, 60))
        self._later(self._until(20, 200), process.die)
        return True

    # Topics and settings.

    def _new_partitions(self) -> bool:
        topic = self._topic()
        if topic is None:
            return False
        there = [partition for partition in self.world.data.partitions if partition.topic == topic]
        for _ in range(self.rng.randint(1, 2)):
            self.world.add_partition(TopicPartition(topic, len(there)), like=self.rng.choice(there))
            there.append(TopicPartition(topic, len(there)))
        return True

    def _topic_removed(self) -> bool:
        topic, service = self._topic_and_service()
        wanted = [service for service in self.world.services.values() if service is not None]
        if topic is None or len(wanted) < 2:
            return False
        self._update(ServiceUpdate("remove", topic))
        self._later(self._until(5, 150), lambda: self._update(ServiceUpdate("add", topic, service)))
        return True

    def _topic_changed(self) -> bool:
        topic, service = self._topic_and_service()
        if service is None:
            return False
        self._versions += 1
        table = service.table if self.rng.random() < 0.5 else f"lake/{topic}-{self._versions}"
        changed = replace(service, table=table, transform=f"module:version_{self._versions}")
        self._update(ServiceUpdate("change", topic, changed))
        return True

    def _broken_transform(self) -> bool:
        topic, service = self._topic_and_service()
        if service is None:
            return False
        self._update(ServiceUpdate("change", topic, replace(service, transform=BROKEN_TRANSFORM)))
        self._later(self._until(10, 60), lambda: self._update(ServiceUpdate("change", topic, service)))
        return True

    def _broken_table(self) -> bool:
        topic = self._topic()
        if topic is None:
            return False
        self.world.sinks.broken_until_s[topic] = self._until(10, 90)
        return True

    def _gap(self) -> bool:
        wanted = list(self.world.consumed())
        if wanted:
            until_s = self._until(10, 60)
            self.world.sinks.gap_until_s.update(dict.fromkeys(self.rng.sample(wanted, min(2, len(wanted))), until_s))
        return bool(wanted)

    def _new_settings(self) -> None:
        self._change_settings()

    def _settings_in_a_move(self) -> None:
        self._when(self._is_managing, self._change_settings, until_s=self._until(30, 120))

    def _bad_settings(self) -> None:
        self._change_settings(BROKEN_IMAGE)
        self._later(self._until(30, 240), self._change_settings)

    def _change_settings(self, image: str = "restow") -> None:
        self._versions += 1
        settings = ConsumerSettings(
            image=f"{image}:{self._versions}",
            memory_mb=self.rng.choice((None, 2048)),
            env=SortedMapping({"LEVEL": self.rng.choice("abc")} if self.rng.random() < 0.5 else {}),
        )
        self._update(ServiceUpdate("consumers", consumers=settings))

    def _new_code(self) -> None:
        self._change_code("code")
        self._later(self._until(0, 30), self.world.reload)

    def _broken_code(self) -> None:
        """Mended later. In between it is reloaded, or only a consumer that crashes loads it."""
        self._change_code(BROKEN_CODE)
        if self.rng.random() < 0.6:
            self.world.reload()
        elif (process := self._consumer()) is not None:
            process.inject(process.die, self._steps())
        self._later(self._until(30, 240), self._mend_code)

    def _mend_code(self) -> None:
        self._change_code("code")
        self.world.reload()

    def _change_code(self, name: str) -> None:
        self._versions += 1
        self.world.change_code(f"{name}:{self._versions}")

    def _is_managing(self) -> bool:
        controller = self.world.controller_in_charge()
        return controller is not None and controller.state.stage is Stage.MANAGE

    def _update(self, update: ServiceUpdate) -> None:
        """Retries until the brokers are up."""
        if not self.world.kafka.is_up:
            self._later(self.world.kafka.down_until_s, lambda: self._update(update))
            return
        self.world.update(update)


assert all(hasattr(Faults, f"_{fault.name.lower()}") for fault in Fault)
