"""One node of the embedded broker: its configuration, its Java process and its log."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from restow import lifeline
from restow.durable import write_atomically
from restow.errors import RestowError
from restow.kafka.embedded.data import new_id
from restow.kafka.embedded.ports import LOOPBACK

# For tests and demos: a fast start and little memory matter more than peak throughput.
JVM_OPTIONS = (
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-XX:+ExitOnOutOfMemoryError",
)

LOGGING = """\
status = error
rootLogger.level = info
rootLogger.appenderRef.stdout.ref = stdout
appender.stdout.type = Console
appender.stdout.name = stdout
appender.stdout.layout.type = PatternLayout
appender.stdout.layout.pattern = %d{ISO8601} %p %c{1}: %m%n
"""

ERROR_LINE = re.compile(
    r" (ERROR|FATAL) |^Caused by|^Exception in|^Error|^[\w.]+(Exception|Error):|java\.[a-z.]+\.\w+(Exception|Error):"
)
SHOWN_LINES = 5

SCRATCH = "scratch"
"""In a node's directory: the native libraries that its jars unpack, which a killed node can't remove."""

META = "meta.properties"
CHECKPOINT = "bootstrap.checkpoint"
"""What a format writes into the data directory: names, and the features of this version of Kafka."""

STOP_WITHIN_S = 30.0
"""A node hands over its leaderships before it stops. Without a quorum it can't."""

KILL_WITHIN_S = 10.0


@dataclass(slots=True, eq=False)
class Node:
    number: int
    home: Path
    command: tuple[str, ...]
    """Java with its options and class path, without the main class."""

    doomed: Path | None
    """A directory to remove if the owner dies."""

    properties: Mapping[str, str]
    client_port: int
    own_port: int
    """The listener between nodes. It is never secured, whatever the clients' listener demands."""

    process: "subprocess.Popen[bytes] | None" = field(default=None)

    @property
    def data(self) -> Path:
        return self.home / "data"

    @property
    def log(self) -> Path:
        return self.home / "broker.log"

    @property
    def own_address(self) -> str:
        return f"{LOOPBACK}:{self.own_port}"

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def prepare(self) -> None:
        """Writes the configuration."""
        self.home.mkdir(exist_ok=True)
        shutil.rmtree(self.home / SCRATCH, ignore_errors=True)
        (self.home / SCRATCH).mkdir()
        (self.home / "log4j2.properties").write_text(LOGGING)
        lines = (f"{name}={value}\n" for name, value in sorted(self.properties.items()))
        self._configuration.write_text("".join(lines).replace("\\", "\\\\"))

    def format(self, cluster_id: str, checkpoint: Path) -> "subprocess.Popen[bytes] | None":
        """Starts formatting the data directory, as KRaft demands. Returns None if it is formatted already, or now, with
        the `checkpoint` that an earlier format has written: that takes no second of CPU."""
        if (self.data / META).exists():
            return None
        if checkpoint.exists():
            self._format_with(checkpoint, cluster_id)
            return None
        with self.log.open("ab") as log:
            tool = ("kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(self._configuration))
            return subprocess.Popen([*self.command, *tool], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _format_with(self, checkpoint: Path, cluster_id: str) -> None:
        self.data.mkdir(exist_ok=True)
        shutil.copyfile(checkpoint, self.data / CHECKPOINT)
        names = {"version": "1", "cluster.id": cluster_id, "node.id": str(self.number), "directory.id": new_id()}
        text = "".join(f"{name}={value}\n" for name, value in names.items())
        write_atomically(self.data / META, text.encode())  # last: a directory that has it is formatted

    def start(self, pipe: int, lock: int) -> None:
        """Starts the node in a process group of its own, so that Ctrl-C reaches us and not the node."""
        assert not self.is_running
        command = (*self.command, "kafka.Kafka", str(self._configuration))
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                lifeline.command(pipe, self.doomed, command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(pipe, lock),
                start_new_session=True,
            )

    def ask_to_stop(self) -> None:
        if self.process is not None:
            self.process.terminate()

    def wait_for_stop(self, within_s: float = STOP_WITHIN_S) -> None:
        if self.process is not None:
            try:
                self.process.wait(within_s)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """Kills the node at once."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGUSR1)  # the lifeline ends after Java: then no process holds its files
        try:
            self.process.wait(KILL_WITHIN_S)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def death(self, when: str) -> RestowError:
        """An error with the last telling lines of the node's log."""
        code = self.process.returncode if self.process else None
        lines = [line for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        shown = [line for line in lines if ERROR_LINE.search(line)] or lines
        return RestowError(
            "\n    ".join(
                [f"Kafka's node {self.number} died {when} (exit code {code}); its log:", *shown[-SHOWN_LINES:]]
            )
        )

    @property
    def _configuration(self) -> Path:
        return self.home / "server.properties"


def java_command(java: Path, jars: Path, home: Path, classes: tuple[str, ...]) -> tuple[str, ...]:
    """`classes`: options for the class archive."""
    logging = f"-Dlog4j2.configurationFile={home / 'log4j2.properties'}"
    return (str(java), *JVM_OPTIONS, *classes, logging, f"-Djava.io.tmpdir={home / SCRATCH}", "-cp", f"{jars}/*")
