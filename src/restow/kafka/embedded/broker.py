"""The embedded broker: a cluster of one to three Kafka nodes, each a Java process on the loopback interface.

The tests, the benchmarks, the demo and `restow broker` use it:

    with EmbeddedKafka() as kafka:
        ...  # kafka.bootstrap

However the owner ends, by an exception, a signal or SIGKILL, no node outlives it (lifeline.py).
"""

import logging
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from restow.durable import write_atomically
from restow.errors import InvalidInput, RestowError
from restow.java.class_data import archive_for, using, writing
from restow.java.jars import KAFKA, cache_dir, fetch
from restow.java.runtime import find_java
from restow.kafka.embedded.data import DataDirectory, kept_directory, temporary_directory
from restow.kafka.embedded.node import CHECKPOINT, Node, java_command
from restow.kafka.embedded.ports import LOOPBACK, check_ports, choose_ports

# While a node starts, failed connections to it are expected.
SILENT = logging.getLogger(f"{__name__}.silent")
SILENT.disabled = True

MOST_NODES = 3
START_WITHIN_S = 120.0
"""A node starts in 2 s on an idle machine, and may take 20 times that beside a test suite on two cores."""

ASK_EVERY_S = 0.05


class EmbeddedKafka:
    """`data` is a directory that is kept and can be reused; the default is a temporary one. `port` is the first node's,
    the others follow; by default free ports are chosen. `server` overrides Kafka's properties on all nodes. A node that
    is stopped in order writes the `archive` of its classes; by default nodes use the archive that `make` has built."""

    def __init__(
        self,
        nodes: int = 1,
        *,
        data: Path | None = None,
        port: int | None = None,
        server: Mapping[str, str] | None = None,
        archive: Path | None = None,
    ) -> None:
        if not 1 <= nodes <= MOST_NODES:
            raise InvalidInput(f"{nodes} nodes can't be started; it must be from 1 to {MOST_NODES}")
        self._numbers = range(1, nodes + 1)
        self._path, self._port, self._server = data, port, dict(server or {})
        self._archive = archive
        self._nodes: dict[int, Node] = {}
        self._up: set[int] = set()  # the nodes that should be running
        self._data: DataDirectory | None = None
        self._lifeline: tuple[int, int] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def bootstrap(self) -> str:
        """The bootstrap servers: every node, running or not."""
        return ",".join(f"{LOOPBACK}:{node.client_port}" for node in self._nodes.values())

    @property
    def logs(self) -> tuple[Path, ...]:
        return tuple(node.log for node in self._nodes.values())

    @property
    def process_ids(self) -> tuple[int, ...]:
        """Of the running nodes. Each leads a process group of its own."""
        return tuple(node.process.pid for node in self._nodes.values() if node.process and node.is_running)

    def start(self) -> None:
        """Returns when every node answers and sees all others. If it raises, no process is left running."""
        assert self._data is None, "it is running already"
        java, jars = find_java(), fetch(KAFKA)
        classes = using(archive_for(java, jars)) if self._archive is None else writing(self._archive)
        ports = self._choose_ports()
        self._data = data = self._open_data()
        try:
            self._lifeline = os.pipe()
            for number, (client_port, own_port, _) in zip(self._numbers, ports, strict=True):
                self._nodes[number] = Node(
                    number=number,
                    home=data.node(number),
                    command=java_command(java, jars, data.node(number), classes),
                    doomed=data.path if data.temporary else None,
                    properties=self._properties(number, ports),
                    client_port=client_port,
                    own_port=own_port,
                )
            self._format(data.cluster_id)
            for number in self._numbers:
                self._launch(number)
            self._wait_until_ready()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stops every node: in order if the data is kept, at once if it is temporary and removed."""
        data, lifeline, self._data, self._lifeline = self._data, self._lifeline, None, None
        if data is None:
            return
        nodes = self._nodes.values()
        for node in nodes:
            node.kill() if data.temporary else node.ask_to_stop()
        for node in nodes:
            node.wait_for_stop()
        for end in lifeline or ():
            os.close(end)
        data.close()

    def stop_node(self, number: int) -> None:
        """A controlled shutdown: the node hands over its leaderships first."""
        self._up.discard(number)
        self._nodes[number].ask_to_stop()
        self._nodes[number].wait_for_stop()

    def kill_node(self, number: int) -> None:
        """Kills a node. The others notice after its session timeout, some seconds later."""
        self._up.discard(number)
        self._nodes[number].kill()

    def start_node(self, number: int) -> None:
        """Restarts a stopped node with its data and ports, and returns when all running nodes see each other."""
        self._launch(number)
        self._wait_until_ready()

    def check(self, when: str = "while it served") -> None:
        """Raises RestowError, with the end of its log, if a node died that was not stopped."""
        for number in sorted(self._up):
            if not self._nodes[number].is_running:
                raise self._nodes[number].death(when)

    def _launch(self, number: int) -> None:
        assert self._data is not None, "the cluster is not running"
        assert self._lifeline is not None
        self._nodes[number].start(self._lifeline[0], self._data.lock.fileno())
        self._up.add(number)

    def _choose_ports(self) -> list[tuple[int, int, int]]:
        """By node: the ports for clients, for other nodes and for the KRaft quorum."""
        count = len(self._numbers)
        if self._port is None:
            chosen = choose_ports(3 * count)
            clients = chosen[2 * count :]
        else:
            asked = range(self._port, self._port + count)
            check_ports(asked)
            chosen, clients = choose_ports(2 * count), tuple(asked)
        return list(zip(clients, chosen[:count], chosen[count:], strict=False))

    def _open_data(self) -> DataDirectory:
        count = len(self._numbers)
        return kept_directory(self._path, count) if self._path else temporary_directory(count)

    def _properties(self, number: int, ports: list[tuple[int, int, int]]) -> dict[str, str]:
        assert self._data
        client_port, own_port, quorum_port = ports[number - 1]
        copies = str(len(ports))
        voters = (f"{voter}@{LOOPBACK}:{port}" for voter, (_, _, port) in enumerate(ports, start=1))
        here = {"CLIENTS": client_port, "NODES": own_port}
        listeners = [f"{name}://{LOOPBACK}:{port}" for name, port in here.items()]
        return {
            "process.roles": "broker,controller",
            "node.id": str(number),
            "controller.quorum.voters": ",".join(voters),
            "controller.listener.names": "QUORUM",
            "inter.broker.listener.name": "NODES",
            "listeners": ",".join([*listeners, f"QUORUM://{LOOPBACK}:{quorum_port}"]),
            "advertised.listeners": ",".join(listeners),
            "listener.security.protocol.map": "CLIENTS:PLAINTEXT,NODES:PLAINTEXT,QUORUM:PLAINTEXT",
            "log.dirs": str(self._data.node(number) / "data"),
            **SMALL,
            "default.replication.factor": copies,
            "offsets.topic.replication.factor": copies,
            "transaction.state.log.replication.factor": copies,
            "share.coordinator.state.topic.replication.factor": copies,
            **self._server,
        }

    def _format(self, cluster_id: str) -> None:
        for node in self._nodes.values():
            node.prepare()
        checkpoint = cache_dir() / f"kafka-{KAFKA.version}.checkpoint"
        nodes = self._nodes.values()
        formats = {node: process for node in nodes if (process := node.format(cluster_id, checkpoint))}
        try:
            for node, process in formats.items():
                if process.wait():
                    node.process = process
                    raise node.death("before it started")
                with suppress(OSError):  # another user's cache; the next node is formatted by Kafka again
                    write_atomically(checkpoint, (node.data / CHECKPOINT).read_bytes())
        finally:
            for process in formats.values():
                process.kill()
                process.wait()

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_WITHIN_S
        waiting = sorted(self._up)
        while waiting := [number for number in waiting if not self._up <= _seen_by(self._nodes[number])]:
            self.check("while it started")
            if time.monotonic() > deadline:
                log_file = self._nodes[waiting[0]].log
                raise RestowError(f"Kafka's node {waiting[0]} did not answer in {START_WITHIN_S:g} s; see {log_file}")
            time.sleep(ASK_EVERY_S)


SMALL = {  # Kafka's defaults suit large machines; these save memory, threads and time
    "auto.create.topics.enable": "false",
    "background.threads": "2",
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "6000",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.dedupe.buffer.size": str(16 * 2**20),
    "metadata.max.idle.interval.ms": "0",  # otherwise a record is written twice a second, for nothing
    "num.io.threads": "4",
    "num.network.threads": "2",
    "offsets.topic.num.partitions": "4",
    "share.coordinator.state.topic.min.isr": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
}


def _seen_by(node: Node) -> set[int]:
    """The brokers in this node's metadata. Each request has a new client: a client that knows the cluster may ask any
    node."""
    client = AdminClient({"bootstrap.servers": node.own_address, "reconnect.backoff.max.ms": 100}, logger=SILENT)
    try:
        return set(client.list_topics(timeout=1.0).brokers)
    except KafkaException:
        return set()
