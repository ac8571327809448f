"""Every setting of restow: its unit is in its name, its default beside it, its reason below it.

A dataclass is a table of restow.toml and a field is a key of it; `reader.py` needs no more than these. A new table is a
dataclass and a field of `Settings`. A field without a default must be given; a field that may be None is None when
it is left out.
"""

from dataclasses import dataclass, field
from typing import Annotated

from restow.errors import InvalidInput
from restow.model import SortedMapping
from restow.packing.problem import Margins
from restow.protocol import channels
from restow.protocol.messages import ConsumerSettings, TopicService
from restow.settings.checks import (
    ABOVE_0,
    AT_LEAST_0,
    AT_LEAST_1,
    DNS_NAME,
    GROUP_NAME,
    SHARE,
    TOPIC_OR_PATTERN,
    TOPIC_PREFIX,
    Check,
    one_of,
)
from restow.settings.passthrough import PassthroughTable
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
        return channels.MONITOR.topic(self.prefix)

    @property
    def controller(self) -> str:
        return channels.CONTROLLER.topic(self.prefix)

    @property
    def query(self) -> str:
        return channels.QUERY.topic(self.prefix)

    @property
    def service(self) -> str:
        return channels.SERVICE.topic(self.prefix)


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
class Controller:
    """`[controller]`: when the group changes, and how long anybody is waited for."""

    worth: Annotated[float, AT_LEAST_0] = 1.0
    """What one consumer is worth, in capacities of moved speed: one is closed if that moves less than this."""

    trigger: Annotated[float, SHARE] = 0.95
    """A consumer is relieved when its load is above this share of its capacity."""

    evict_to: Annotated[float, SHARE] = 0.85
    """A consumer that is relieved gives up partitions until it is at or below this share."""

    fill_to: Annotated[float, SHARE] = 0.85
    """A partition is put on a consumer only if that stays at or below this share."""

    drain_to: Annotated[float, SHARE] = 0.75
    """The same, where a consumer is emptied to be closed: lower, so that closing is not regretted."""

    least_consumers: Annotated[int, AT_LEAST_0] = 0
    most_consumers: Annotated[int, AT_LEAST_1] | None = None
    """Left out, there are as many as are needed."""

    look_every_s: Annotated[float, ABOVE_0] = 60.0
    """The longest time without a look for a chance to use fewer consumers."""

    catch_up_s: Annotated[float, ABOVE_0] = 300.0
    """Time in which a backlog should be worked off: it counts as backlog / this in a partition's speed."""

    stale_after_s: Annotated[float, ABOVE_0] = 30.0
    """Speeds that are older than this change nothing."""

    fastest_partition_bytes_per_s: Annotated[float, ABOVE_0] = 10e9
    """A measurement with a partition faster than this is nonsense and changes nothing."""

    answer_within_s: Annotated[float, ABOVE_0] = 30.0
    """A command or query that isn't answered for so long is sent again. A consumer answers between two cycles."""

    most_tries: Annotated[int, AT_LEAST_1] = 3
    """A consumer that has not answered a command so often is restarted."""

    ready_within_s: Annotated[float, ABOVE_0] = 180.0
    """A consumer that was created or restarted, or whose process began anew by itself, is given so long to be ready.
    Spark takes some seconds to start, a node that has to be added some minutes."""

    silent_after_s: Annotated[float, ABOVE_0] = 60.0
    """A consumer that has said nothing for so long is restarted. It reports every few seconds."""

    create_again_after_s: Annotated[float, ABOVE_0] = 30.0
    """Pause after a consumer could not be started; it doubles each time, up to twenty times this."""

    refused_again_after_s: Annotated[float, ABOVE_0] = 10.0
    """Pause after a partition was refused, for a transform or a table that can't be used; it doubles like that too."""

    list_every_s: Annotated[float, ABOVE_0] = 30.0
    """The platform is asked this often who is there, besides what it tells by itself."""

    def __post_init__(self) -> None:
        _ = self.margins  # refuses a contradiction
        if self.most_consumers is not None and self.most_consumers < self.least_consumers:
            raise InvalidInput(
                f"most_consumers is {self.most_consumers}; it must be least_consumers ({self.least_consumers}) or more"
            )

    @property
    def margins(self) -> Margins:
        return Margins(self.trigger, self.evict_to, self.fill_to, self.drain_to)


@dataclass(frozen=True, slots=True)
class Consumer:
    """`[consumer]`: what each consumer is and how it works."""

    capacity_bytes_per_s: Annotated[float, ABOVE_0] = 2_000_000.0
    """What one consumer sustains. Measure it; don't guess."""

    pipeline: Annotated[str, Check("light or spark", lambda kind: kind in ("light", "spark"))] = "spark"
    """What it runs: `spark` runs the transforms on Spark and writes Delta tables; `light` stores records in SQLite, for
    trials of a group without Spark."""

    memory_mb: Annotated[int, AT_LEAST_1] = 1024
    cores: Annotated[float, ABOVE_0] = 1.0

    image: str | None = None
    """The image that runs it, where consumers run in containers."""

    report_every_s: Annotated[float, ABOVE_0] = 5.0

    grace_s: Annotated[float, ABOVE_0] = 30.0
    """Time to finish the running cycle when it is told to end. After that it is ended by force."""

    cycle_s: Annotated[float, ABOVE_0] = 1.0
    """A cycle takes no more records than fit this time; with nothing to read it waits so long."""

    cycle_bytes: Annotated[int, AT_LEAST_1] = 32_000_000
    """A cycle takes about this much at most, and less where that would last longer than `cycle_s`. On one core of a
    busy machine cycles of 8 MB took 1.1 s and made 7 MB/s, of 32 MB 1.6 s and 20 MB/s, of 64 MB 1.9 s and 33 MB/s."""

    light_bytes_per_s: Annotated[float, ABOVE_0] | None = None
    """The light consumer reads no faster than this, so that a trial on one fast machine needs several of them. Left
    out, it reads as fast as it can."""

    @property
    def settings(self) -> ConsumerSettings:
        return ConsumerSettings(self.image, self.memory_mb, self.cores, self.capacity_bytes_per_s)


@dataclass(frozen=True, slots=True)
class Group:
    """`[group]`: which group of consumers this is. Several may share a cluster and a machine."""

    name: GROUP_NAME = "restow"
    """Kafka's name of the group, whose lag every tool shows; also the label of its consumers on their platform."""

    platform: Annotated[str, one_of("processes", "kubernetes")] = "processes"
    """Where its consumers run: as processes on the controller's machine, or as pods of a cluster."""


@dataclass(frozen=True, slots=True)
class Processes:
    """`[processes]`: consumers as processes on this machine."""

    directory: str = "restow-data"
    """Each consumer has a directory in it as its volume, with its log. Relative to where restow is started."""


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """`[kubernetes]`: consumers as pods, each with a Deployment and a volume of its own; more in docs/kubernetes.md."""

    namespace: Annotated[str, DNS_NAME] | None = None
    """Where they run. Left out, where the controller runs, or else what the kubeconfig's context names."""

    kubeconfig: str | None = None
    """A file with the cluster's address and credentials. Left out, the controller's own service account is taken; where
    it has none, the file that KUBECONFIG names, else ~/.kube/config."""

    context: str | None = None
    """Which context of the kubeconfig. Left out, its current one."""

    config_map: Annotated[str, DNS_NAME] | None = None
    """The ConfigMap that has restow.toml and, beside it, modules with transforms. Consumers see its keys as files. Left
    out, it is GROUP-config."""

    service_account: Annotated[str, DNS_NAME] | None = None
    """What consumers run as. They never call Kubernetes and get no token; it matters for what clouds tie to it. Left
    out, it is the namespace's default."""

    user_id: Annotated[int, AT_LEAST_0] = 10001
    """The user, never root, that consumers run as and whose group their volumes are given. 0 leaves it to the cluster,
    where that assigns users by itself, and to the image."""

    volume_gb: Annotated[int, AT_LEAST_1] = 1
    """GiB of each consumer's volume. It keeps offsets and plans, a few kB; the lake is elsewhere."""

    storage_class: Annotated[str, DNS_NAME] | None = None
    """Left out, it is the cluster's default."""

    access_mode: Annotated[str, one_of("ReadWriteOncePod", "ReadWriteOnce")] = "ReadWriteOncePod"
    """ReadWriteOncePod bars a second pod from the volume until the first has ended, also when a node is drained.
    ReadWriteOnce, for storage that can't do that, bars it only on another node; a lock on the volume does the rest."""

    claims: Annotated[str, one_of("keep", "delete")] = "keep"
    """What becomes of the claim on a volume when its consumer goes: kept, the next consumer with the number uses it."""

    requests_at_once: Annotated[int, AT_LEAST_1] = 16
    """Requests to the API server at the same time. More gain little and are throttled sooner."""

    alive_within_s: Annotated[float, Check("60 or more", lambda s: s >= 60)] = 180.0
    """A consumer whose loop hasn't turned for so long is killed and started again, also while there is no controller.
    A controller is quicker (silent_after_s). Below 60 s, one that waits for its brokers would look dead."""

    pod: PassthroughTable = field(default_factory=PassthroughTable)
    """`[kubernetes.pod]`: anything else of a pod template, by Kubernetes' own names, merged into what restow makes:
    node selectors, tolerations, environment, secrets, annotations, volumes. The container's name is `consumer`."""


@dataclass(frozen=True, slots=True)
class Spark:
    """`[spark]`: the session that each consumer runs the transforms in."""

    master: Annotated[str, Check("local[N], spark://host:port, k8s://... or yarn", bool)] | None = None
    """Where the work is done. Left out, in the consumer's own process, with as many threads as it has cores."""

    packages: tuple[Annotated[str, Check("group:artifact:version", lambda name: name.count(":") == 2)], ...] = ()
    """Jars from Maven that the transforms need, with all that those depend on. Spark fetches them as it starts."""

    properties: ClientProperties = field(default_factory=ClientProperties)
    """Any other key: `spark.sql.session.timeZone = "UTC"` is a property of the session, and `kafka.max.poll.records =
    2000` one of the Java client that Spark reads with, by its Java name."""

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
class Table:
    """`[table]`: how Delta tables are kept fast. The first three become Delta's properties of the tables that restow
    makes; a table that is there already keeps its own. docs/exactly-once.md has the measurements."""

    checkpoint_every_commits: Annotated[int, AT_LEAST_1] = 20
    """The log is summed up this often; whoever opens the table reads the last summary and what came after it. With 20
    a commit took 8 ms on average, with 100 it took 20 ms; below 20 the summaries of a large table become the larger
    part."""

    log_kept_s: Annotated[float, ABOVE_0] = 1800.0
    """Commits older than this are forgotten once they are in a summary, and with them the way back to older versions;
    who follows a table as a stream must not be away for longer. On a local disk every commit lists those that are kept:
    43 ms more with 10,000 of them, 395 ms with 86,400, a day of one-second cycles."""

    removed_files_kept_s: Annotated[float, ABOVE_0] = 7200.0
    """Files that were compacted into others stay this long for those who are reading them, and files that were written
    and never committed stay as long. Each of the first is a line in every summary until then: 20,000 of them, six hours
    of one-second cycles, are 0.7 MB and 55 ms each time."""

    compact_at_files: Annotated[int, Check("0 (never) or 2 and more", lambda files: files == 0 or files >= 2)] = 100
    """Small files are made into larger ones when there are so many; 0 switches it off. It is done beside the cycles, by
    one consumer at a time."""

    file_mb: Annotated[int, AT_LEAST_1] = 64
    """How large a compacted file becomes, about; a smaller one is small."""


@dataclass(frozen=True, slots=True)
class Log:
    """`[log]`: the log lines of every process, on stderr."""

    format: Annotated[str, one_of("text", "json")] = "text"
    """"text" is for people: UTC time, level, role, words. "json" is for collectors: an object a line, with time, level,
    role, logger and message."""

    level: Annotated[str, one_of("debug", "info", "warning", "error")] = "info"
    """The least important lines that are written. Libraries' lines are written from "warning" on."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All of restow.toml."""

    kafka: Kafka
    topics: Topics = field(default_factory=Topics)
    monitor: Monitor = field(default_factory=Monitor)
    group: Group = field(default_factory=Group)
    controller: Controller = field(default_factory=Controller)
    consumer: Consumer = field(default_factory=Consumer)
    processes: Processes = field(default_factory=Processes)
    kubernetes: Kubernetes = field(default_factory=Kubernetes)
    spark: Spark = field(default_factory=Spark)
    table: Table = field(default_factory=Table)
    log: Log = field(default_factory=Log)
    consume: SortedMapping[TOPIC_OR_PATTERN, TopicService] = field(default_factory=SortedMapping)
    """`[consume.NAME]`: what becomes of a topic's records, by its name, or by a regular expression that starts with ^
    and must match a whole name. A name counts more than an expression."""

    @property
    def topics_of_interest(self) -> tuple[str, ...]:
        """What is measured: names and expressions."""
        return tuple(sorted({*self.monitor.topics, *self.consume}))
