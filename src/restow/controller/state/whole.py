"""The state as a whole: what is wanted, the consumers and what they hold, and here the load and the plans for it."""

from dataclasses import dataclass, field

from restow.controller.events import SpeedsMeasured
from restow.controller.learned import Learned
from restow.controller.peaks import Peaks
from restow.controller.state.holdings import Holdings
from restow.controller.state.observed import ForeignConsumers, MovesBegun, NoGain, Quiet, ScaleUp, TotalSpeed
from restow.controller.transitions import Stage
from restow.model import Assignment, Capacities, ConsumerId, SortedMapping, TopicPartition
from restow.protocol.platform_identity import PlatformIdentity
from restow.settings import START_CAPACITY_BYTES_PER_S


@dataclass(frozen=True)
class State(Holdings):
    stage: Stage = Stage.SYNCHRONIZE
    epoch: int | None = None
    platform: PlatformIdentity | None = None
    """Where this controller's consumers run; None if unknown."""
    is_forced: bool = False
    """A person said `--take-over`: consumers on other platforms hold nothing up."""
    foreign: SortedMapping[str, ForeignConsumers] = field(default_factory=SortedMapping)
    """Consumers on other platforms that have reported lately, by the platform's id."""
    deadlines_s: SortedMapping[TopicPartition, float] = field(default_factory=SortedMapping)
    """When Kafka may delete the oldest unread record of partitions that are served first for it."""
    measured: SpeedsMeasured | None = None
    """The newest plausible measurement, with the last known speed of each partition missing in it."""
    measured_s: float = 0.0
    """When it arrived; before the first, when this controller began."""
    peaks: Peaks = field(default_factory=Peaks)
    """The highest speeds of the last `close_after_s`."""
    quiet: Quiet | None = None
    """Since when nothing has been written, if the group may be parked; None if that is not known."""
    totals: tuple[TotalSpeed, ...] = ()
    """The total speed in the last half minute, if rises are predicted."""
    predicted_s: float = 0.0
    """When a plan was last made because of predicted speeds."""
    moves: tuple[MovesBegun, ...] = ()
    """The moves of the last hour, if there is a budget for them."""
    replanned_s: float = 0.0
    """When Reassign last ran."""
    packed: SpeedsMeasured | None = None
    """The measurement of the last decision."""
    recommended: Assignment | None = None
    """The last plan that was recommended and not carried out, as long as it would be again."""
    target: Assignment | None = None
    """The assignment that Manage works towards."""
    tolerated: frozenset[ConsumerId] = frozenset()
    """Consumers that the last plan left above the trigger, because nothing could be done: no cause to plan again."""
    checked_s: float = 0.0
    """When the causes to plan were last checked."""
    learned: Learned = field(default_factory=Learned)
    """What consumers carry and topics cost, as far as it is not fixed by settings."""
    too_fast: SortedMapping[TopicPartition, float] = field(default_factory=SortedMapping)
    """Partitions faster than any consumer, each with how many times, as last flagged (fastest.py)."""
    scale_up: ScaleUp | None = None
    """The scale-up that is to be judged."""
    no_gain: NoGain | None = None
    """No further consumer is opened after it, until something changes."""
    no_fall_from: int | None = None
    """Learned capacities do not fall while the group has at least this many consumers: the last of them raised
    nothing."""
    flags: SortedMapping[str, str] = field(default_factory=SortedMapping)
    """Conditions that operators should know of, in words, by name."""

    @property
    def capacity_bytes_per_s(self) -> float:
        """What a new consumer is assumed to carry."""
        fixed = self.fixed_capacity_bytes_per_s
        return fixed or self.learned.median_bytes_per_s() or START_CAPACITY_BYTES_PER_S

    def capacities(self) -> Capacities:
        """What each consumer carries."""
        if self.fixed_capacity_bytes_per_s is not None:
            return Capacities(self.fixed_capacity_bytes_per_s)
        known = self.learned.capacities.items()
        own = {consumer: learned.bytes_per_s for consumer, learned in known if consumer in self.consumers}
        return Capacities(self.capacity_bytes_per_s, SortedMapping(own))

    def cost_of(self, topic: str) -> float:
        """How much work a byte of the topic is, relative to the mean of all topics."""
        fixed = self.fixed_cost(topic)
        if fixed is not None:
            return fixed
        known = self.learned.costs.get(topic)
        return 1.0 if known is None else known.cost

    @property
    def speeds_are_stale(self) -> bool:
        return self.measured is None or self.time_s - self.measured_s > self.rules.controller.stale_after_s

    @property
    def is_scaling_frozen(self) -> bool:
        """Speeds are stale; or this controller has just begun and a held partition is not measured yet: its speed of 0
        is no reason to close consumers."""
        if self.speeds_are_stale or self.measured is None:
            return True
        if self.time_s - self.began_s >= self.rules.controller.stale_after_s:
            return False
        known = self.measured.speeds.keys()
        incomplete = (view.held for view in self.consumers.values() if not view.held <= known)
        return any(p not in known and self.service_of(p.topic) is not None for held in incomplete for p in held)
