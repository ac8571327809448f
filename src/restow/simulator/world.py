"""The simulated world: Kafka, platform, sinks, clock and data around the real machines, and the faults.

`run(scenario)` simulates a scenario to its end. `restow simulate` and the tests call it.
"""

import gc
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Final

from restow.controller.learned import Learned
from restow.controller.schedules import planned
from restow.controller.state import Rules
from restow.model import ConsumerId, TopicPartition
from restow.picture.observer import Observer
from restow.picture.picture import Picture
from restow.picture.publication import WHOLE_EVERY_S
from restow.protocol.channels import MeasurementReader
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.messages.desired import ConsumerRestart, DesiredState
from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.messages.unions import Message
from restow.protocol.platform_identity import PlatformIdentity
from restow.protocol.topic_service import TopicService
from restow.simulator.agenda import Agenda
from restow.simulator.checkers.progress import Runaway
from restow.simulator.checkers.watch import Watch
from restow.simulator.consumer import ConsumerProcess, Volume
from restow.simulator.controller import ControllerProcess
from restow.simulator.coverage import Coverage
from restow.simulator.crises import Crises
from restow.simulator.data import Data
from restow.simulator.faults.plan import Faults
from restow.simulator.machines import Machines
from restow.simulator.measures import SAMPLE_S, Measures
from restow.simulator.monitor import BEGINNING, MonitorProcess, time_text
from restow.simulator.orders import Orders
from restow.simulator.people import People
from restow.simulator.platform import FIRST_PLATFORM, SimulatedPlatform
from restow.simulator.scenario import Scenario
from restow.simulator.sinks import Sinks
from restow.simulator.topics import Kafka, Topic
from restow.simulator.wire import GROUP, AsBytes, AsValues, Measured, Wire, open_measured
from restow.simulator.workloads import STEP_S

BEGINNING_S: Final = BEGINNING.timestamp()
PROGRESS_EVERY_S: Final = 10.0
MOST_VIOLATIONS: Final = 20
"""A lasting violation is reported again and again."""
RARELY: Final = (100_000, 50, 1_000)
"""Thresholds of the collector of cycles."""
CALM_S: Final = 240.0
"""Liveness is checked in runs that are at least this long."""

SETTINGS: Final = ("image", "memory_mb", "cores", "capacity_bytes_per_s")
"""Settings that stay as in restow.toml if an update leaves them out."""

Tracer = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SimulatedPicture:
    """What a person sees of the group at `at_s`: the newest picture, drawn at `drawn_s`."""

    picture: Picture
    drawn_s: float
    at_s: float

    @property
    def age_s(self) -> float:
        return self.at_s - self.drawn_s


@dataclass(frozen=True)
class SimulatedRun:
    scenario: Scenario
    measures: Measures
    coverage: Coverage
    violations: tuple[str, ...]
    picture: SimulatedPicture | None = None
    """The group at the wanted time; None if it was not wanted, or no controller had published any."""


class World:
    def __init__(self, scenario: Scenario, tracer: Tracer | None = None, picture_at_s: float | None = None) -> None:
        self.scenario = scenario
        self.picture_at_s = picture_at_s
        self.picture: SimulatedPicture | None = None
        self.rules: Rules = scenario.rules
        self.agenda = Agenda()
        self.wire: Wire = AsBytes() if scenario.encodes else AsValues()
        self.windows = planned(scenario.schedule, [_utc for _ in scenario.schedule], BEGINNING_S)
        """Of the schedule, for hours before and after the run: the wall clock may jump."""
        self.kafka = Kafka(self.agenda, scenario.random("kafka"))
        self.data = Data(scenario.partitions, scenario.speeds())
        self.sinks = Sinks()
        self.measures = Measures(self.data)
        self.coverage = Coverage()
        self.violations: list[str] = []
        self.watch = Watch(self)
        self.processes: list[ConsumerProcess] = []
        self.disowned: list[ConsumerProcess] = []
        """Processes that the platform has reported gone while they still ran."""
        self.volumes: dict[ConsumerId, Volume] = {}
        """Those of the present platform."""
        self.platform = self._new_platform(FIRST_PLATFORM)
        self.former: SimulatedPlatform | None = None
        """The platform before the last move. Its consumers run until a person ends them."""
        self.services: dict[str, TopicService | None] = dict(scenario.rules.consume)
        """The definition of each topic, as last published; None if it is not consumed."""
        self.settings = scenario.consumer.settings
        """The consumers' settings, as last published."""
        self.said = ConsumerSettings()
        """The same as far as the service topic has them."""
        self.clock_off_s = 0.0
        """How far the controllers' wall clock is off."""
        self.code = "code:0"
        """The digest of the transforms' modules on disk. A process loads them when it begins."""
        self.machines = None
        if scenario.machines is not None:
            self.machines = Machines(self, scenario.machines, scenario.random("machines"))
        self.published = Learned()
        """What the newest picture has of what was learned."""
        self.controllers: list[ControllerProcess] = []
        self.controllers_away_until_s = 0.0
        """Until then none is started."""
        self.poison: dict[TopicPartition, tuple[int, float]] = {}
        """A record, by its offset, that kills the processes that read it until a time."""
        self.wanted_controllers = 1
        """How many their supervisor keeps running: with 2, one of them is a standby."""
        self.monitor = MonitorProcess(self, scenario.random("monitor"))
        self._tracer = tracer
        self._started = 0
        self._rng = scenario.random("world")

    def play(self) -> None:
        scenario = self.scenario
        self.agenda.every(STEP_S, lambda: self.data.advance(self.agenda.now_s))
        self.agenda.every(SAMPLE_S, self._sample)
        self.agenda.every(WHOLE_EVERY_S, self._publish_learned)
        self.monitor.begin()
        if self.picture_at_s is not None:
            self.agenda.every(WHOLE_EVERY_S, self._draw)
            self.agenda.at(self.picture_at_s, self._draw)
        self.start_controller()
        Faults(self, scenario.random("faults")).plan()
        if self.machines is not None:
            self.machines.plan()
        People(self, scenario.random("people")).plan()
        Orders(self, scenario.random("orders")).plan()
        Crises(self, scenario.random("crises")).plan()
        end_s, quiet_s = scenario.duration_s, scenario.quiet_s
        if end_s < CALM_S:
            self.agenda.run_until(end_s)
            return
        self.agenda.run_until(end_s - quiet_s)
        self.agenda.every(PROGRESS_EVERY_S, lambda: self.watch.progress.sample(self))
        self.agenda.run_until(end_s - quiet_s / 2)
        self.watch.progress.remember(self)
        self.agenda.run_until(end_s)
        self.watch.progress.end(self)
        self.watch.one_rolls.end(self)
        self.watch.restarted_once.end(self)
        self.watch.holds.end(self)

    @property
    def utc_s(self) -> float:
        """The wall clock of the controllers' machines, in whole seconds since 1970."""
        return float(int(BEGINNING_S + self.agenda.now_s + self.clock_off_s))

    @property
    def least_consumers(self) -> int:
        said = self.said.least_consumers
        return self.rules.controller.least_consumers if said is None else said

    @property
    def is_held(self) -> bool:
        """Whether people have paused the group, or want decisions to be recommended only, as far as the controller in
        charge has read."""
        controller = self.controller_in_charge()
        return controller is not None and self.watch.holds.by(controller.state) is not None

    def dissolve(self) -> None:
        """Cuts the references between its parts. So nearly all of a run is freed at once; the collector would walk
        through it several times first."""
        processes = (*self.processes, *self.disowned, *self.controllers, self.monitor)
        for part in (*processes, self.platform, self.former or self.platform, self.kafka, self.agenda, self):
            vars(part).clear()

    # Processes.

    def start_controller(self, is_forced: bool = False) -> None:
        self._started += 1
        rng = self.scenario.random(f"controller/{self._started}")
        controller = ControllerProcess(self, rng, f"controller {self._started}", is_forced)
        if self.picture_at_s is not None:
            controller.observer = Observer(GROUP, controller.name, time_text(self.agenda.now_s))
        self.controllers.append(controller)
        controller.at(self.agenda.now_s, controller.begin)

    def controller_in_charge(self) -> ControllerProcess | None:
        """The controller that took over last; None if it has ended."""
        newest = self.kafka.in_charge
        return newest if isinstance(newest, ControllerProcess) and newest.is_alive else None

    def standbys(self) -> list[ControllerProcess]:
        return [each for each in self.controllers if each.is_alive and each.epoch is None]

    def controller_ended(self) -> None:
        after_s = self._rng.uniform(1, 20)
        self.agenda.at(max(self.agenda.now_s, self.controllers_away_until_s) + after_s, self._restart_controller)

    def _restart_controller(self) -> None:
        if sum(controller.is_alive for controller in self.controllers) < self.wanted_controllers:
            self.start_controller()

    def monitor_ended(self) -> None:
        self._started += 1
        self.monitor = MonitorProcess(self, self.scenario.random(f"monitor/{self._started}"))
        self.agenda.after(self._rng.uniform(1, 30), self.monitor.begin)

    def move(self) -> SimulatedPlatform:
        """The group's controllers are ended, and their successors run on another platform. The consumers of the former
        one run on. Returns it."""
        self.former = self.platform
        self._started += 1
        self.platform = self._new_platform(PlatformIdentity(f"simulated-{self._started}", "another platform"))
        for controller in self.controllers:
            controller.die()
        return self.former

    def _new_platform(self, identity: PlatformIdentity) -> SimulatedPlatform:
        volumes: dict[ConsumerId, Volume] = {}
        purpose = "platform" if identity is FIRST_PLATFORM else identity.id

        def spawn(number: ConsumerId, settings: ConsumerSettings) -> ConsumerProcess:
            return self._spawn(platform, volumes, number, settings)

        def remove_volume(number: ConsumerId) -> None:
            """A process that still runs keeps its own copy, which no other process sees."""
            volumes.pop(number, None)

        platform = SimulatedPlatform(
            self.agenda,
            self.scenario.random(purpose),
            spawn,
            remove_volume,
            self.scenario.consumer.grace_s,
            self.scenario.start_s,
            identity=identity,
        )
        self.volumes = volumes
        return platform

    def _spawn(
        self,
        platform: SimulatedPlatform,
        volumes: dict[ConsumerId, Volume],
        number: ConsumerId,
        settings: ConsumerSettings,
    ) -> ConsumerProcess:
        self._started += 1
        volume = volumes.setdefault(number, Volume())
        rng = self.scenario.random(f"consumer/{self._started}")
        process = ConsumerProcess(self, number, volume, settings, rng, platform)
        self.processes = [process for process in self.processes if process.is_alive]
        self.processes.append(process)
        return process

    # Topics and settings.

    def open(self, topic: Topic, partition: int, offset: int, record: object) -> Message | None:
        """A process reads a record. Returns None if it can't be decoded, or is of another group."""
        message = self.wire.open(topic, partition, offset, record)
        self.watch.only_ours.opened(record, message)
        return message

    def open_measured(self, offset: int, record: object, reader: MeasurementReader) -> Measured | None:
        measured = open_measured(offset, record, reader)
        self.watch.only_ours.opened(record, measured)
        return measured

    def update(self, update: ServiceUpdate) -> None:
        self.kafka.append(Topic.SERVICE, 0, self.wire.seal(update))
        if update.consumers is not None:
            said = {name: value for name in SETTINGS if (value := getattr(update.consumers, name)) is not None}
            self.settings = replace(self.scenario.consumer.settings, env=update.consumers.env, **said)
            self.said = update.consumers
        if update.topic is not None:
            self.services[update.topic] = update.service
            self.measures.forget(update.topic)

    def ask(self, record: DesiredState) -> None:
        """A person writes to the service topic."""
        self.watch.holds.written(self.kafka.log(Topic.SERVICE, 0).end, record)
        self.kafka.append(Topic.SERVICE, 0, self.wire.seal(record))
        if isinstance(record, ConsumerRestart):
            self.watch.restarted_once.asked(record, self.agenda.now_s)

    def change_code(self, code: str) -> None:
        """Another version of the transforms' modules is on disk; `restow reload` has not been said."""
        self.code = code

    def reload(self) -> None:
        """`restow reload`. A controller that hangs reads it later; one that starts reads the modules anyway."""
        controller = self.controller_in_charge()
        if controller is not None:
            controller.reload_requested = True

    def add_partition(self, partition: TopicPartition, like: TopicPartition) -> None:
        self.data.add(partition, like, self.agenda.now_s)
        self.measures.grown()

    def consumed(self) -> Iterator[TopicPartition]:
        for partition in self.data.partitions:
            if self.services[partition.topic] is not None:
                yield partition

    # Observation.

    def violated(self, line: int, words: str) -> None:
        if len(self.violations) < MOST_VIOLATIONS:
            self.violations.append(f"{line}: at {self.agenda.now_s:.1f} s, {words}")
        self.trace("violation", line, words)

    def trace(self, kind: str, *what: object) -> None:
        if self._tracer is not None:
            self._tracer(f"{self.agenda.now_s:.6f} {kind} {' '.join(map(repr, what))}")

    def _draw(self) -> None:
        """As on the status topic: the newest picture stays if no controller publishes another."""
        now_s, at_s = self.agenda.now_s, self.picture_at_s
        controller = self.controller_in_charge()
        if at_s is None or now_s > at_s or not self.kafka.is_up or controller is None:
            return
        picture = controller.picture()
        if picture is not None:
            self.picture = SimulatedPicture(picture, now_s, at_s)

    def _publish_learned(self) -> None:
        """As in the picture, which the next controller reads."""
        controller = self.controller_in_charge()
        if controller is not None and not controller.is_frozen and self.kafka.is_up:
            self.published = controller.state.learned

    def _load_of(self, process: ConsumerProcess) -> float:
        """Where machines differ, as a load of the mean one."""
        speeds, index = self.data.speeds_now, self.data.index
        if self.machines is None:
            return sum(map(speeds.__getitem__, map(index.__getitem__, process.positions)))
        costs, base = self.machines.costs, self.machines.traits.base
        work = sum(costs[partition.topic] * speeds[index[partition]] for partition in process.positions)
        return work * base / self.machines.speed_of(process.number)

    def _sample(self) -> None:
        loads = [self._load_of(process) for process in self.processes if process.is_alive]
        self.watch.learning.sample(self)
        self.watch.only_granted.sample(self)
        rows = self.data.rows_of([topic for topic, service in self.services.items() if service is not None])
        self.measures.sample(
            self.agenda.now_s, len(self.platform.pods), loads, self.scenario.capacity_bytes_per_s, rows
        )


def _utc(utc_s: float) -> float:
    """The offset of the simulated machines' time zone."""
    del utc_s
    return 0.0


def run(scenario: Scenario, tracer: Tracer | None = None, picture_at_s: float | None = None) -> SimulatedRun:
    with _rarely_collected():
        return _played(World(scenario, tracer, picture_at_s))


def _played(world: World) -> SimulatedRun:
    with suppress(Runaway):  # reported as a violation
        world.play()
    played = SimulatedRun(world.scenario, world.measures, world.coverage, tuple(world.violations), world.picture)
    world.dissolve()
    return played


@contextmanager
def _rarely_collected() -> Iterator[None]:
    """A run is millions of values, few of them in cycles. Python's collector would walk through them again and again:
    that took a tenth of the time of a small group, and 29 % at 20,000 partitions. At the end it looks at what the run
    has made, and at nothing else."""
    before = gc.get_threshold()
    gc.set_threshold(*RARELY)
    gc.freeze()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.collect()
        gc.unfreeze()


def digest(scenario: Scenario) -> str:
    """A hash of the whole trace: the same for the same scenario, on every machine."""
    sha = hashlib.sha256()
    run(scenario, lambda line: sha.update(line.encode()))
    return sha.hexdigest()
