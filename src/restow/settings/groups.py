"""Every setting of restow: its unit is in its name, its default beside it, its reason below it.

A dataclass is a table of restow.toml and a field is a key of it; `reader.py` needs no more than these. A new table is a
dataclass and a field of `Settings`. A field without a default must be given; a field that may be None is None when
it is left out.
"""

from dataclasses import dataclass, field
from typing import Annotated

from restow.errors import InvalidInput
from restow.settings.checks import ABOVE_0, AT_LEAST_1, TOPIC_OR_PATTERN, TOPIC_PREFIX, Check
from restow.settings.properties import ClientProperties

OTHER_NAMES_OF_BOOTSTRAP = ("bootstrap.servers", "metadata.broker.list")


@dataclass(frozen=True, slots=True)
class Kafka:
    """`[kafka]`: how to reach the brokers. Any other key is a property of librdkafka and goes to every client."""

    bootstrap: Annotated[str, Check("one or more host:port, separated by commas", lambda text: ":" in text)]
    """Some brokers of the cluster, as host:port,host:port. The others are found through them."""

    properties: ClientProperties = field(default_factory=ClientProperties)
    """Everything else in the table, as `sasl.username = "restow"` or `"sasl.username" = "restow"`. They are told to
    every client that restow makes, by librdkafka's names, so that security is configured in one place."""

    def __post_init__(self) -> None:
        for name in OTHER_NAMES_OF_BOOTSTRAP:
            if name in self.properties:
                raise InvalidInput(f'{name} is called bootstrap here; write bootstrap = "{self.properties[name]}"')


@dataclass(frozen=True, slots=True)
class Topics:
    """`[topics]`: the four topics over which the parts of restow speak."""

    prefix: TOPIC_PREFIX = "data-engineering"
    """What the names of the four topics start with. Groups that share a cluster need different prefixes."""

    replication_factor: Annotated[int, AT_LEAST_1] | None = None
    """Copies of each partition. Left out, the brokers' own default is taken: they know how many they are."""

    monitor_retention_ms: Annotated[
        int, Check("-1 (for ever) or 1000 and more", lambda ms: ms == -1 or ms >= 1000)
    ] = -1
    """How long the monitor's records are kept; -1 is for ever, as published. Only the newest record matters to the
    controller, so that a day (86400000) saves disk and loses nothing but history."""

    most_consumers: Annotated[int, AT_LEAST_1] = 20
    """Consumers that the controller and query topics have partitions for when they are made. They are grown when a
    group becomes larger; growing costs a refresh of metadata, so that a good guess is kinder."""

    @property
    def monitor(self) -> str:
        return f"{self.prefix}-monitor"

    @property
    def controller(self) -> str:
        return f"{self.prefix}-controller"

    @property
    def query(self) -> str:
        return f"{self.prefix}-query"

    @property
    def service(self) -> str:
        return f"{self.prefix}-service"


@dataclass(frozen=True, slots=True)
class Monitor:
    """`[monitor]`: what is measured, and how often."""

    topics: tuple[TOPIC_OR_PATTERN, ...] = ()
    """Topics of interest: names, or regular expressions, which start with ^ and must match a whole name."""

    sample_every_s: Annotated[float, ABOVE_0] = 1.0
    """Seconds between two looks at the brokers. A look costs them a request each; speeds become no truer below 1 s."""

    publish_every_s: Annotated[float, ABOVE_0] = 1.0
    """Seconds between two records of speeds. The controller acts on the newest one."""

    window_s: Annotated[float, Check("above 0 and at most 30", lambda s: 0 < s <= 30)] = 30.0
    """Seconds of samples that a raw speed is taken over. 30 s is the published window; a longer one hides changes."""

    filter_threshold: Annotated[float, ABOVE_0] = 30.0
    """How sure a change must be before the filtered speed forgets what was before it. Lower follows small steps sooner,
    higher is calmer; docs/decisions/010-a-filter-that-follows-steps.md has what 26, 30 and 34 gave."""

    filter_smoothing_s: Annotated[float, Check("0 or more", lambda s: s >= 0)] = 6.0
    """Time constant of the low-pass filter on the mean of a full window; 0 switches it off."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All of restow.toml."""

    kafka: Kafka
    topics: Topics = field(default_factory=Topics)
    monitor: Monitor = field(default_factory=Monitor)
