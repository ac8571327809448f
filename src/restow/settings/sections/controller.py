"""`[controller]`: when the group scales, its presets, and the controller's timeouts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from restow.errors import InvalidInput
from restow.packing.problem import Margins
from restow.settings.checks import ABOVE_0, AT_LEAST_0, AT_LEAST_1, SHARE, SHARE_OR_0, Check, one_of

PRESETS: Final[Mapping[str, Mapping[str, float]]] = {
    "careful": {
        "worth": 0.5,
        "trigger": 0.9,
        "evict_to": 0.8,
        "fill_to": 0.8,
        "drain_to": 0.65,
        "close_after_s": 900.0,
        "cool_down_after_opening_s": 900.0,
        "cool_down_after_closing_s": 300.0,
    },
    "balanced": {},
    "lean": {
        "worth": 3.0,
        "trigger": 0.98,
        "evict_to": 0.94,
        "fill_to": 0.94,
        "drain_to": 0.93,
        "close_after_s": 60.0,
        "cool_down_after_opening_s": 60.0,
        "cool_down_after_closing_s": 30.0,
    },
}
"""Settings of [controller] that go together; settings that a preset leaves out have their defaults."""


@dataclass(frozen=True, slots=True)
class Controller:
    """`[controller]`: when the group scales, and the controller's timeouts. Shares are of a consumer's capacity."""

    presets: ClassVar[Mapping[str, Mapping[str, float]]] = PRESETS

    preset: Annotated[str, one_of(*PRESETS)] = "balanced"
    """`careful` keeps more room and closes consumers later, `lean` fills consumers higher and closes them sooner. It
    sets the defaults of `worth`, `trigger`, `evict_to`, `fill_to`, `drain_to`, `close_after_s` and the cool-downs; a
    key that is written takes precedence over it. docs/policy.md compares them."""

    worth: Annotated[float, AT_LEAST_0] = 1.0
    """How much load may move to save one consumer, in consumer capacities. With 1, a consumer is removed if emptying it
    moves less than one full consumer's load."""

    moves_by_number: Annotated[float, SHARE_OR_0] = 0.75
    """How much of what a move costs is the same for every partition; the rest is its speed. With 0, several slow
    partitions leave an overloaded consumer rather than a fast one. With 1, as few as possible do."""

    trigger: Annotated[float, SHARE] = 0.95
    """A consumer whose load is above this share gives up partitions."""

    evict_to: Annotated[float, SHARE] = 0.85
    """It gives up partitions until its load is at or below this share: lower than `trigger`, so that noise doesn't
    trigger it again at once."""

    fill_to: Annotated[float, SHARE] = 0.85
    """A consumer gets another partition only if its load stays at or below this share."""

    drain_to: Annotated[float, SHARE] = 0.75
    """The same for partitions of a consumer that is being removed: lower than `fill_to`, so that the group doesn't grow
    again soon after."""

    least_consumers: Annotated[int, AT_LEAST_0] = 0
    """The group never has fewer consumers; starting ones count. With 0, a group with nothing to read has none."""

    most_consumers: Annotated[int, AT_LEAST_1] | None = None
    """The group never has more consumers, even if they are overloaded. Without it, it has as many as the load needs."""

    spares: Annotated[int, AT_LEAST_0] = 0
    """Warm consumers without partitions, on top of what the load needs, within `most_consumers`. They take the
    partitions of a consumer that crashes, and a scale-up takes them first; their successors start when the partitions
    have moved. Both then wait for no start of Spark. Each costs what a consumer costs."""

    look_every_s: Annotated[float, ABOVE_0] = 60.0
    """Seconds after which the controller checks again whether fewer consumers would do, if nothing else made it
    replan."""

    close_after_s: Annotated[float, AT_LEAST_0] = 300.0
    """A consumer is closed only if the others could have carried its partitions at every measurement of so many
    seconds: a pause of the producers must not cost a consumer that is needed again at once. With 0, the speeds of the
    moment decide. docs/decisions/061-act-late-on-a-fall-and-early-on-a-rise.md has the reason."""

    cool_down_after_opening_s: Annotated[float, AT_LEAST_0] = 300.0
    """Seconds after the creation of a consumer in which none is closed."""

    cool_down_after_closing_s: Annotated[float, AT_LEAST_0] = 60.0
    """Seconds after a consumer was closed in which no other is: the rest must have shown that they suffice."""

    predict_at_most: Annotated[float, AT_LEAST_0] = 0.5
    """A rising load is predicted ahead by the time that a start takes, but no further than this share above the present
    one. If that needs another consumer, one is opened ahead. With 0, and without `cool_down_after_opening_s`, nothing
    is predicted."""

    park_after_s: Annotated[float, Check("60 or more", lambda s: s >= 60)] | None = None
    """Scale to zero: if nothing was written to the consumed topics for so many seconds and everything is read, all
    consumers are closed until the next record. That record then waits for the start of a consumer. Without it, and with
    `least_consumers` above 0, a group that reads anything has at least one."""

    most_moves_per_h: Annotated[int, AT_LEAST_1] | None = None
    """A budget: no consumer is closed if that takes more moves of partitions than are left of this number within an
    hour; the flag `moves postponed` says so. Moves for overloaded consumers and unread partitions are never postponed,
    but count. Without it, there is no limit."""

    catch_up_s: Annotated[float, ABOVE_0] = 300.0
    """Seconds in which a backlog should be worked off: a partition's lag divided by this is added to its speed."""

    stuck_after_s: Annotated[float, ABOVE_0] = 120.0
    """Seconds in which a partition's backlog has not shrunk, although its consumer has room, after which the partition
    is stuck: it is flagged, and its backlog scales nothing. Shorter than `catch_up_s`, so that a stuck partition opens
    few consumers; longer than any retry pause of a table."""

    stale_after_s: Annotated[float, ABOVE_0] = 30.0
    """Seconds after which the newest measurement is stale. The controller doesn't scale by stale speeds."""

    fastest_partition_bytes_per_s: Annotated[float, ABOVE_0] = 10e9
    """A measurement that has a faster partition, in bytes per second, is taken for an error and ignored."""

    answer_within_s: Annotated[float, ABOVE_0] = 30.0
    """Seconds after which an unanswered command or query is sent again. A consumer answers between two cycles."""

    most_tries: Annotated[int, AT_LEAST_1] = 3
    """A consumer that leaves a command unanswered this many times is restarted."""

    ready_within_s: Annotated[float, ABOVE_0] = 180.0
    """Seconds that a consumer has to become ready after it was created, restarted, or crashed and came back. Spark
    starts in seconds; a cluster may need minutes to add a node."""

    silent_after_s: Annotated[float, ABOVE_0] = 60.0
    """Seconds without a message after which a consumer is restarted. It reports every `report_every_s`."""

    create_again_after_s: Annotated[float, ABOVE_0] = 30.0
    """First pause in seconds after a consumer could not be started; it doubles with each failure, up to 20 times
    this."""

    refused_again_after_s: Annotated[float, ABOVE_0] = 10.0
    """First pause in seconds after a consumer refused a partition, because its transform or its table can't be used; it
    doubles with each refusal, up to 20 times this."""

    list_every_s: Annotated[float, ABOVE_0] = 30.0
    """Seconds between two listings of the platform's consumers, in case one of its notifications was lost."""

    take_over_after_s: Annotated[float, Check("6 or more", lambda s: s >= 6)] = 10.0
    """Seconds without a sign of life of the controller in charge after which a second one, which waits as a standby,
    takes over. A controller gives a sign every 3 s; below 6 s one late sign would cost it the group. One that ends
    cleanly, or whose process is dead on the same machine, is succeeded at once."""

    retention_margin_s: Annotated[float, AT_LEAST_0] = 3600.0
    """The flag `retention margin` is raised if Kafka may delete unread records within this many seconds, or within half
    of the topic's retention if that is shorter. With 0, it is never raised."""

    def __post_init__(self) -> None:
        _ = self.margins  # raises InvalidInput if they contradict each other
        if self.most_consumers is not None and self.most_consumers < self.least_consumers:
            raise InvalidInput(
                f"most_consumers is {self.most_consumers}; it must be least_consumers ({self.least_consumers}) or more"
            )

    @classmethod
    def of_preset(cls, preset: str, **given: Any) -> "Controller":
        """The settings of a preset; `given` overrides them."""
        return cls(**{**PRESETS[preset], **given, "preset": preset})

    @property
    def margins(self) -> Margins:
        return Margins(self.trigger, self.evict_to, self.fill_to, self.drain_to)
