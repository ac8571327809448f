"""Every setting of restow: the unit in its name, the default beside it, the meaning and the reason below it.

A dataclass is a table of restow.toml and a field is a key of that table; `reader.py` is driven by them. To add a table,
add a dataclass and a field of `Settings`. A field without a default is required.
"""

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, replace
from typing import Annotated, Any, ClassVar, Final

from restow.errors import InvalidInput
from restow.model import SortedMapping
from restow.packing.problem import Margins
from restow.protocol import channels
from restow.protocol.messages import ConsumerSettings, TopicService
from restow.settings.checks import (
    ABOVE_0,
    AT_LEAST_0,
    AT_LEAST_1,
    CRON,
    DNS_NAME,
    DURATION,
    GROUP_NAME,
    SHARE,
    SHARE_OR_0,
    TOPIC_OR_PATTERN,
    TOPIC_PREFIX,
    Check,
    IfMissing,
    one_of,
)
from restow.settings.passthrough import PassthroughTable
from restow.settings.paths import located
from restow.settings.properties import ClientProperties

OTHER_NAMES_OF_BOOTSTRAP = ("bootstrap.servers", "metadata.broker.list")

START_CAPACITY_BYTES_PER_S: Final = 2_000_000.0
"""What a consumer is assumed to carry before anything is learned of it. A consumer with five tables and many partitions
carried 1.4 MB/s on one core, one with one table 17 MB/s."""

OLD_NAME: Final = "restow"
OLD_PREFIX: Final = "data-engineering"
"""What a file without `[group] name` and without `[topics] prefix` meant before a name was required."""


@dataclass(frozen=True, slots=True)
class Kafka:
    """`[kafka]`: the cluster, and properties for every Kafka client."""

    bootstrap: Annotated[str, Check("one or more host:port, separated by commas", lambda text: ":" in text)]
    """Bootstrap servers, as host:port,host:port. Clients find the other brokers through them."""

    properties: ClientProperties = field(default_factory=ClientProperties)
    """Any other key of the table is a librdkafka property, such as `sasl.username = "restow"`. Every client that restow
    creates gets it, and Spark's reader what it needs of it under the Java name, so that security is configured once."""

    def __post_init__(self) -> None:
        for name in OTHER_NAMES_OF_BOOTSTRAP:
            if name in self.properties:
                raise InvalidInput(f'{name} is called bootstrap here; write bootstrap = "{self.properties[name]}"')


@dataclass(frozen=True, slots=True)
class Topics:
    """`[topics]`: the five topics over which the roles communicate. The monitor, the controller or a consumer creates
    them."""

    prefix: TOPIC_PREFIX | None = None
    """The topics are named `<prefix>-monitor`, `-controller`, `-query`, `-service` and `-status`. Without it, the
    prefix is the group's name, so that groups on one cluster have topics of their own."""

    replication_factor: Annotated[int, AT_LEAST_1] | None = None
    """Replicas of each partition. Without it, the brokers use their default.replication.factor."""

    monitor_retention_ms: Annotated[int, Check("-1 (forever) or 1000 and more", lambda ms: ms == -1 or ms >= 1000)] = -1
    """Retention of the monitor topic in milliseconds; -1 keeps every record. The controller needs only the newest
    record, so that a day (86400000) saves disk and loses nothing but history."""

    most_consumers: Annotated[int, AT_LEAST_1] = 20
    """How many consumers the controller and query topics have partitions for when they are created. They grow with the
    group; each growth costs a metadata refresh, which a good estimate avoids. It does not limit the group: see
    `most_consumers` in [controller]."""

    @property
    def monitor(self) -> str:
        return self._named(channels.MONITOR)

    @property
    def controller(self) -> str:
        return self._named(channels.CONTROLLER)

    @property
    def query(self) -> str:
        return self._named(channels.QUERY)

    @property
    def service(self) -> str:
        return self._named(channels.SERVICE)

    @property
    def status(self) -> str:
        return self._named(channels.STATUS)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all of them."""
        return tuple(self._named(channel) for channel in channels.CHANNELS)

    def _named(self, channel: channels.Channel) -> str:
        assert self.prefix is not None, "Settings sets the prefix to the group's name"
        return channel.topic(self.prefix)


@dataclass(frozen=True, slots=True)
class Monitor:
    """`[monitor]`: which topics the monitor measures, and how."""

    topics: tuple[TOPIC_OR_PATTERN, ...] = ()
    """Topics to measure besides those of [consume]: names, or regular expressions that start with ^ and match a whole
    name. An expression never matches Kafka's internal topics, nor restow's own of any group."""

    sample_every_s: Annotated[float, ABOVE_0] = 1.0
    """Seconds between two samples. A sample costs each broker a few requests; below 1 s speeds become no more
    accurate."""

    publish_every_s: Annotated[float, ABOVE_0] = 1.0
    """Seconds between two measurements on the monitor topic. The controller acts on the newest one. With more than
    50,000 partitions it is at least a second for each 50,000, so that a controller can follow."""

    window_s: Annotated[float, Check("above 0 and at most 30", lambda s: 0 < s <= 30)] = 30.0
    """Seconds over which the raw speed is averaged, and the filtered speed at most. 30 s is the window of the published
    work; a longer one would hide changes."""

    filter_threshold: Annotated[float, ABOVE_0] = 30.0
    """How significant a change of speed must be before the filter drops the samples before it: a likelihood ratio. A
    lower threshold follows small steps sooner, a higher one varies less.
    docs/decisions/010-a-filter-that-follows-steps.md compares 26, 30 and 34."""

    filter_smoothing_s: Annotated[float, Check("0 or more", lambda s: s >= 0)] = 6.0
    """Time constant in seconds of the low-pass filter that smooths a full window's mean; 0 switches it off. The result
    stays within two standard errors of the mean, so that 6 s delay it only where the mean is uncertain."""


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
"""Settings of [controller] that go together; those that a preset leaves out have their defaults."""


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
    """The group never has fewer consumers; those that are starting count. With 0, a group with nothing to read has
    none."""

    most_consumers: Annotated[int, AT_LEAST_1] | None = None
    """The group never has more consumers, even if they are overloaded. Without it, it has as many as the load needs."""

    spares: Annotated[int, AT_LEAST_0] = 0
    """Warm consumers without partitions, on top of those that the load needs, within `most_consumers`. They take the
    partitions of one that crashes, and a scale-up takes them first while their successors start: both then wait for no
    start of Spark. Each costs what a consumer costs."""

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
        """The settings of a preset, with those that are given in place of its own."""
        return cls(**{**PRESETS[preset], **given, "preset": preset})

    @property
    def margins(self) -> Margins:
        return Margins(self.trigger, self.evict_to, self.fill_to, self.drain_to)


@dataclass(frozen=True, slots=True)
class Schedule:
    """`[[schedule]]`: a window of time with limits of its own, or in which nothing is scaled: nights, month ends,
    freezes. Each schedule is a table of its own. Limits that a person sets with `restow consumers set` take precedence.
    Of windows that overlap, the highest `least` and the lowest `most` apply."""

    cron: Annotated[str, CRON]
    """When a window begins, in local time: minute, hour, day of the month, month, day of the week. `0 22 * * mon-fri`
    is ten in the evening of each working day, `0 0 L * *` the last day of each month."""

    for_: Annotated[str, DURATION]
    """How long it lasts."""

    zone: Annotated[str, Check("a time zone, like Europe/Berlin", bool)] = "UTC"
    """The time zone of `cron`. A local time that the clock skips in spring does not occur; one that it repeats in
    autumn occurs twice."""

    least: Annotated[int, AT_LEAST_0] | None = None
    """Takes the place of `least_consumers` while the window is open."""

    most: Annotated[int, AT_LEAST_1] | None = None
    """Takes the place of `most_consumers` while the window is open."""

    hold: bool = False
    """Whether the group is held as by `restow pause`: nothing is scaled, moved for load or restarted with new settings;
    unread partitions are recovered."""

    def __post_init__(self) -> None:
        if self.least is not None and self.most is not None and self.most < self.least:
            raise InvalidInput(f"most is {self.most}; it must be least ({self.least}) or more")


@dataclass(frozen=True, slots=True)
class Consumer:
    """`[consumer]`: the resources of each consumer, and its cycles."""

    capacity_bytes_per_s: Annotated[float, ABOVE_0] | None = None
    """The throughput that each consumer sustains, in bytes per second of Kafka's log. Without it, it is learned for
    each consumer from its cycles, beginning with 2,000,000: slow to rise, quick to fall, and never below a quarter of
    that. A given value is fixed; give one where consumers must not be filled as far as they could be. `restow bench
    consumer` measures it with JSON records and prints this line; your own transforms may be slower."""

    pipeline: Annotated[str, Check("light or spark", lambda kind: kind in ("light", "spark"))] = "spark"
    """`spark` runs transforms on Spark and writes Delta tables. `light` stores records in SQLite without Spark, to try
    out a group."""

    memory_mb: Annotated[int, AT_LEAST_1] = 1536
    """Memory of each consumer in MiB. Spark's heap is 640 MiB less. A consumer of 144 partitions took 1,262 MB at full
    load; with 1024 its heap was full, and it spent its time collecting garbage."""

    cores: Annotated[float, ABOVE_0] = 1.0
    """CPU cores of each consumer; fractions are allowed."""

    image: str | None = None
    """The container image of consumers, where the platform runs containers."""

    report_every_s: Annotated[float, ABOVE_0] = 5.0
    """Seconds between two reports of lag and throughput to the controller; they are its heartbeat too."""

    grace_s: Annotated[float, ABOVE_0] = 30.0
    """Seconds that a consumer has to finish its cycle when it is stopped. Then it is killed."""

    resume_after_s: Annotated[float, ABOVE_0] = 10.0
    """After a crash a consumer claims what it held, and reads what the controller grants. If nothing is heard of a
    controller for so many seconds, it resumes what lies in tables that refuse late writes, so that a group without a
    controller heals; the rest waits. Longer than a controller takes to answer, and about as long as a standby takes to
    take over."""

    cycle_s: Annotated[float, ABOVE_0] = 1.0
    """Seconds between the beginnings of two cycles while the consumer keeps up: how fresh tables are, against how many
    files they get. An idle consumer waits this long before it looks for records again."""

    longest_cycle_s: Annotated[float, ABOVE_0] = 10.0
    """Upper limit of a cycle in seconds while there is a backlog. The consumer learns the fixed cost of a cycle, and
    makes cycles so long that this is a tenth of their time. A command or the shutdown cuts a longer cycle short, and
    its work is lost."""

    cycle_bytes: Annotated[int, AT_LEAST_1] = 256_000_000
    """Upper limit of a cycle in bytes, approximately; `longest_cycle_s` may limit it further. At 50 MB/s this is 5 s,
    of which 0.4 s are fixed. Records are streamed: a larger cycle needs no more memory."""

    light_bytes_per_s: Annotated[float, ABOVE_0] | None = None
    """Throttles the light consumer to this many bytes per second, so that a trial on one fast machine needs several
    consumers. Without it, it is not throttled."""

    @property
    def settings(self) -> ConsumerSettings:
        return ConsumerSettings(self.image, self.memory_mb, self.cores, self.capacity_bytes_per_s)


@dataclass(frozen=True, slots=True)
class Group:
    """`[group]`: the consumer group. Several groups may share a cluster and a machine."""

    name: Annotated[
        GROUP_NAME,
        IfMissing(
            'write [group] name = "orders", or what else the group should be called; a file without it meant name = '
            f'"{OLD_NAME}", and prefix = "{OLD_PREFIX}" in [topics] unless that was set'
        ),
    ]
    """Each group on a cluster needs its own. It is the Kafka consumer group under which offsets are committed, so that
    any tool shows its lag; the prefix of restow's topics; the group's id in its tables; and the label of its consumers
    on their platform. A group that is renamed starts over: its tables don't know the new name's offsets."""

    platform: Annotated[str, one_of("processes", "kubernetes")] = "processes"
    """Where consumers run: `processes` on the controller's machine, or pods on `kubernetes`."""


@dataclass(frozen=True, slots=True)
class Processes:
    """`[processes]`: settings of the platform `processes`."""

    directory: str = "restow-data"
    """The directory of the consumers' volumes and logs, one directory each."""


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """`[kubernetes]`: settings of the platform `kubernetes`, where each consumer has a Deployment and a volume of its
    own. docs/kubernetes.md shows them in use."""

    namespace: Annotated[str, DNS_NAME] | None = None
    """The namespace of the consumers. Without it, the controller's own namespace, or else that of the kubeconfig's
    context."""

    kubeconfig: str | None = None
    """The file with the cluster's address and credentials. Without it, the controller uses its service account, or else
    the file that KUBECONFIG names, or else ~/.kube/config."""

    context: str | None = None
    """The context of the kubeconfig. Without it, the current one."""

    config_map: Annotated[str, DNS_NAME] | None = None
    """The ConfigMap with restow.toml and the modules of transforms, mounted into consumers as files. Without it,
    GROUP-config."""

    service_account: Annotated[str, DNS_NAME] | None = None
    """The service account of consumers, for access that a cloud ties to it. They never call Kubernetes and get no
    token. Without it, the namespace's default."""

    user_id: Annotated[int, AT_LEAST_0] = 10001
    """The user that consumers run as and the group that owns their volumes; never root. 0 leaves the choice to the
    cluster, which some clusters insist on, and to the image."""

    volume_gb: Annotated[int, AT_LEAST_1] = 1
    """Size of each consumer's volume in GiB. It holds a checkpoint and planned cycles, a few kB; tables are
    elsewhere."""

    scratch_gb: Annotated[int, AT_LEAST_1] = 4
    """Limit of each pod's scratch space in GiB: an `emptyDir` at /tmp for temporary files, Spark's among them. Without
    one, a consumer could fill the disk of its node. Kubernetes evicts a pod that exceeds it; the consumer then starts
    again with empty scratch space. A cycle needs some MB, large shuffles and `packages` more."""

    storage_class: Annotated[str, DNS_NAME] | None = None
    """The storage class of the volumes. Without it, the cluster's default."""

    access_mode: Annotated[str, one_of("ReadWriteOncePod", "ReadWriteOnce")] = "ReadWriteOncePod"
    """ReadWriteOncePod keeps a second pod off the volume until the first has ended, even while a node is drained.
    ReadWriteOnce, for storage without it, keeps off pods of other nodes; a lock on the volume keeps off the others."""

    claims: Annotated[str, one_of("keep", "delete")] = "keep"
    """Whether a consumer's volume claim is kept or deleted with it. A kept claim is used by the next consumer with its
    number."""

    requests_at_once: Annotated[int, AT_LEAST_1] = 16
    """Concurrent requests to the API server. More gain little and are throttled sooner."""

    alive_within_s: Annotated[float, Check("60 or more", lambda s: s >= 60)] = 180.0
    """Seconds without progress of a consumer's loop after which its liveness probe fails and the kubelet restarts it,
    even while there is no controller. A controller notices sooner (`silent_after_s`). Below 60 s, a consumer that waits
    for brokers would look dead."""

    pod: PassthroughTable = field(default_factory=PassthroughTable)
    """`[kubernetes.pod]`: a partial pod template, by Kubernetes' own names, merged into the consumers' pods: node
    selectors, tolerations, environment, secrets, annotations, volumes. The container's name is `consumer`."""


@dataclass(frozen=True, slots=True)
class Spark:
    """`[spark]`: the Spark session in which each consumer runs its transforms."""

    master: Annotated[str, Check("local[N], spark://host:port, k8s://... or yarn", bool)] | None = None
    """Spark's master. Without it, Spark runs inside the consumer's process with one thread per core."""

    packages: tuple[Annotated[str, Check("group:artifact:version", lambda name: name.count(":") == 2)], ...] = ()
    """Maven coordinates of jars that transforms need. Spark fetches them and their dependencies when it starts."""

    properties: ClientProperties = field(default_factory=ClientProperties)
    """Any other key is a property: of the session if it starts with `spark.`, like `spark.sql.session.timeZone =
    "UTC"`; of the Java consumer with which Spark reads if it starts with `kafka.`, like `kafka.max.poll.records =
    2000`."""

    def __post_init__(self) -> None:
        for name in self.properties:
            if not name.startswith(("spark.", "kafka.")):
                raise InvalidInput(
                    f"there is no setting '{name}'; known are master and packages, and properties that start with "
                    "spark. or kafka."
                )

    def of_session(self) -> dict[str, str]:
        return {name: value for name, value in self.properties.items() if name.startswith("spark.")}

    def of_reader(self) -> dict[str, str]:
        return {name: value for name, value in self.properties.items() if name.startswith("kafka.")}


@dataclass(frozen=True, slots=True)
class Registry:
    """`[registry]`: credentials for a schema registry, from environment variables: `password =
    "${REGISTRY_PASSWORD}"`. They are sent to no other address than `url`."""

    url: str | None = None
    """The registry's URL, as `registry` in [consume.NAME] has it. Requests to others are sent without credentials."""

    username: str | None = None
    """The user's name, for HTTP basic authentication; an API key is one too."""

    password: str | None = field(default=None, repr=False)
    """The user's password, or the API key's secret."""

    token: str | None = field(default=None, repr=False)
    """A bearer token, in place of a user's name and password."""

    ca_file: str | None = None
    """The certificates, as PEM, of the authorities that may sign the registry's. Without it, those of the system."""

    def __post_init__(self) -> None:
        if self.url is not None and "@" in self.url:
            raise InvalidInput("url has credentials in it; write them as username and password, from the environment")
        if self.url is None and (self.username or self.password or self.token or self.ca_file):
            raise InvalidInput("url is missing; write the registry's, so that credentials are sent to no other")
        if self.token and (self.username or self.password):
            raise InvalidInput("token is given beside username or password; write one of both")
        if (self.username is None) != (self.password is None):
            raise InvalidInput("username and password belong together; write both")


@dataclass(frozen=True, slots=True)
class Table:
    """`[table]`: maintenance of Delta tables. `checkpoint_every_commits`, `log_kept_s` and `removed_files_kept_s`
    become table properties of the tables that restow creates; an existing table keeps its own. docs/exactly-once.md has
    the measurements."""

    checkpoint_every_commits: Annotated[int, AT_LEAST_1] = 50
    """Commits between two checkpoints of the transaction log. A reader loads the last checkpoint and the commits after
    it, at 0.5 ms each. Writing a checkpoint lists the log; it is done beside the cycles."""

    log_kept_s: Annotated[float, ABOVE_0] = 86_400.0
    """Seconds that entries of the transaction log are kept after a checkpoint covers them. It limits time travel, and
    how long a streaming reader may be away. Commits don't become slower with it."""

    removed_files_kept_s: Annotated[float, ABOVE_0] = 86_400.0
    """Seconds before files are deleted that compaction replaced, or that were never committed. A streaming reader that
    was away needs the replaced ones for as long as the log's entries. They take disk space, and each is a line of every
    checkpoint."""

    compact_at_files: Annotated[int, Check("0 (never) or 2 and more", lambda files: files == 0 or files >= 2)] = 100
    """Small files in a table at which they are compacted; 0 switches compaction off. It runs beside the cycles, in one
    consumer at a time."""

    file_mb: Annotated[int, AT_LEAST_1] = 64
    """Target size of compacted files in MB. A file below it counts as small."""


@dataclass(frozen=True, slots=True)
class EventLog:
    """`[event_log]`: how long the controller's event log is kept, which `restow replay` explains. docs/operations.md
    says how much an hour takes."""

    kept_days: Annotated[float, ABOVE_0] = 14.0
    """Days after which a segment is deleted. A segment has an hour at most."""

    kept_mb: Annotated[int, Check("16 or more", lambda mb: mb >= 16)] = 1000
    """The log's size in MB at which its oldest segments are deleted, even if they are younger. On Kubernetes the claim
    of the log is sized by it."""


@dataclass(frozen=True, slots=True)
class Page:
    """`[page]`: the page that `restow page` serves for browsers."""

    enabled: bool = True
    """Whether `restow up` and `restow manifests` run the page too."""

    host: Annotated[str, Check("an address or a name of this machine", bool)] = "127.0.0.1"
    """The address to listen on. On loopback, everyone on this machine may look. On any other address, also 0.0.0.0 for
    all, looking needs the group's token, as every action does."""

    port: Annotated[int, Check("0 to 65535", lambda port: 0 <= port <= 65535)] = 8642
    """The port to listen on; 0 takes any free one. Groups on one machine need one each."""

    token_file: str | None = None
    """The file with the token that actions need. Without it, `restow page` makes one that only its owner can read: in
    the group's directory, or with platform = "kubernetes" below ~/.restow."""


@dataclass(frozen=True, slots=True)
class Log:
    """`[log]`: the log of every process, on stderr."""

    format: Annotated[str, one_of("text", "json")] = "text"
    """`text` is for people: UTC time, level, role, message. `json` is for log collectors: one object per line, with
    time, level, role, logger and message."""

    level: Annotated[str, one_of("debug", "info", "warning", "error")] = "info"
    """The lowest level that is logged. Libraries log from `warning` on, except Kafka's clients: `debug` shows
    librdkafka's log."""


@dataclass(frozen=True, slots=True)
class Metrics:
    """`[metrics]`: what every process serves over HTTP: `/metrics` for Prometheus, `/healthz` and `/readyz` for probes.
    docs/metrics.md has every metric."""

    enabled: bool = True
    """Whether processes serve at all. Without it, the probes of pods read files instead."""

    host: Annotated[str, Check("an address or a host name of this machine", bool)] = "127.0.0.1"
    """The address on which local processes serve, each on a free port. The files in `targets_directory` have the ports.
    Metrics name topics, and anyone who reaches the address may read them."""

    targets_directory: str | None = None
    """The directory of the files by which Prometheus finds local processes (`file_sd_configs`). Without it,
    GROUP-metrics in the directory of [processes]."""

    pod_port: Annotated[int, Check("a port, 1 to 60000", lambda port: 1 <= port <= 60000)] = 9464
    """The port on which pods serve, at their own address. Pods on their node's network (`hostNetwork`) can't share a
    port: there the monitor has this one, the controller the next, the page the one after it, and consumer N the Nth
    after the page's."""

    per_partition_speeds: bool = False
    """Whether the controller's metrics have the write speed of every partition, and not only of every topic: one more
    series for each partition."""


@dataclass(frozen=True, slots=True)
class Settings:
    """restow.toml as a whole: a field for each table, and the directory that relative paths start in."""

    kafka: Kafka
    group: Group
    topics: Topics = field(default_factory=Topics)
    monitor: Monitor = field(default_factory=Monitor)
    controller: Controller = field(default_factory=Controller)
    schedule: tuple[Schedule, ...] = ()
    consumer: Consumer = field(default_factory=Consumer)
    processes: Processes = field(default_factory=Processes)
    kubernetes: Kubernetes = field(default_factory=Kubernetes)
    spark: Spark = field(default_factory=Spark)
    registry: Registry = field(default_factory=Registry)
    table: Table = field(default_factory=Table)
    event_log: EventLog = field(default_factory=EventLog)
    page: Page = field(default_factory=Page)
    log: Log = field(default_factory=Log)
    metrics: Metrics = field(default_factory=Metrics)
    consume: SortedMapping[TOPIC_OR_PATTERN, TopicService] = field(default_factory=SortedMapping)
    """`[consume.NAME]`: what the group does with a topic's records. NAME is a topic, or a regular expression that
    starts with ^ and matches a whole name; a topic's own table takes precedence over an expression. An expression never
    matches Kafka's internal topics, nor restow's own of any group."""

    directory: str = field(default="", repr=False, compare=False)
    """The absolute path of the directory that restow.toml is in. Empty for settings that were read from no file: their
    relative paths start in the working directory."""

    def __post_init__(self) -> None:
        if self.topics.prefix is None:
            object.__setattr__(self, "topics", replace(self.topics, prefix=self.group.name))

    def in_directory(self, directory: str) -> "Settings":
        """The same settings, as those of a file in this directory."""
        file = self.kubernetes.kubeconfig
        kubeconfig = file if file is None or file.startswith("~") else located(file, directory)
        return replace(
            self,
            kafka=replace(self.kafka, properties=self.kafka.properties.in_directory(directory)),
            spark=replace(self.spark, properties=self.spark.properties.in_directory(directory)),
            kubernetes=replace(self.kubernetes, kubeconfig=kubeconfig),
            directory=directory,
        )

    def located(self, path: str) -> str:
        """The absolute path of a path in restow.toml; a URI stays as it is."""
        return located(path, self.directory)

    @property
    def topics_of_interest(self) -> tuple[str, ...]:
        """The names and regular expressions of all topics that the monitor measures."""
        return tuple(sorted({*self.monitor.topics, *self.consume}))


def tables() -> "dict[str, Field[Any]]":
    """The fields of `Settings` that are tables of restow.toml, by name."""
    return {each.name: each for each in fields(Settings) if each.name != "directory"}
