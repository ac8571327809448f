"""The group under fire: `restow up`, consumers as processes, and where to find each process to strike it."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.soak.load import CAPACITY_BYTES_PER_S, TOPICS
from tests.soak.tables import DeltaTables, LightTables, Tables

from restow.kafka.embedded.ports import choose_ports
from restow.model import ConsumerId
from restow.platform.processes.ending import end_group
from restow.platform.processes.linux import Process, descendants, process, send
from restow.platform.processes.supervisors import LocalConsumer, Supervisors
from restow.roles.child import RESTOW, role_command

GROUP: Final = "soak"
GRACE_S: Final = 20.0
SPARK, LIGHT = "spark", "light"
SETTINGS: Final = """\
[kafka]
bootstrap = {bootstrap}
[group]
name = "{group}"
[processes]
directory = {directory}
[consumer]
{consumer}
capacity_bytes_per_s = {capacity}
report_every_s = 1.0
grace_s = {grace_s}
[controller]
look_every_s = 5.0
close_after_s = 20.0
cool_down_after_opening_s = 20.0
cool_down_after_closing_s = 10.0
most_consumers = 4
silent_after_s = 20.0
list_every_s = 5.0
[page]
port = {port}
[spark]
"spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1"
[table]
compact_at_files = 10
removed_files_kept_s = 40.0
log_kept_s = 864000.0
"""
CONSUMERS: Final = {
    LIGHT: 'pipeline = "light"',
    SPARK: "memory_mb = 700",
}
MAINTENANCE: Final = b"restow.pipeline.delta.maintenance"


class SoakGroup:
    def __init__(self, directory: Path, volumes: Path, bootstrap: str, pipeline: str) -> None:
        self.directory, self.volumes, self.pipeline = directory, volumes, pipeline
        self.config = directory / "restow.toml"
        self._supervisors = Supervisors(GROUP, volumes)
        self._up: subprocess.Popen[bytes] | None = None
        self._others: list[subprocess.Popen[bytes]] = []
        self._write_settings(bootstrap)

    def __enter__(self) -> Self:
        self.go_up()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in (*self._others, *([self._up] if self._up else [])):
            each.send_signal(signal.SIGCONT)
            each.terminate()
            try:
                each.wait(2 * GRACE_S)
            except subprocess.TimeoutExpired:
                each.kill()
                each.wait()
        end_group(GROUP, self.volumes, GRACE_S, lambda _: None)

    @property
    def tables(self) -> Tables:
        if self.pipeline == LIGHT:
            return LightTables(self.directory / "table.db")
        return DeltaTables(self.directory / "lake", GROUP)

    @property
    def output(self) -> str:
        return (self.directory / "up.txt").read_text(errors="replace")

    def go_up(self) -> None:
        """Starts `restow up` if it doesn't run."""
        if self._up is None or self._up.poll() is not None:
            with (self.directory / "up.txt").open("ab") as output:
                self._up = subprocess.Popen(
                    role_command("up", self.config),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                )

    def kill_up(self) -> None:
        assert self._up
        self._up.kill()
        self._up.wait()

    def second_controller(self) -> "subprocess.Popen[bytes]":
        """One that takes over from the first."""
        with (self.directory / "second.txt").open("ab") as output:
            command = role_command("controller", self.config, "--take-over", "--log", str(self.directory / "second"))
            self._others.append(
                subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=self.directory)
            )
        return self._others[-1]

    def command(self, *words: str) -> None:
        """Runs `restow WORDS --config …`."""
        done = subprocess.run(
            [*RESTOW, *words, "--config", str(self.config)], capture_output=True, text=True, check=False, timeout=120
        )
        if done.returncode:
            raise RuntimeError(f"restow {' '.join(words)}: {done.stderr}")

    def consumers(self) -> dict[ConsumerId, LocalConsumer]:
        """Those that exist, aren't being deleted and have a process."""
        found = self._supervisors.consumers().items()
        return {consumer: local for consumer, local in found if local.wanted and local.child}

    def volume(self, consumer: ConsumerId) -> Path:
        return self._supervisors.volume(consumer)

    def role(self, name: str) -> Process | None:
        """The process of the monitor, the controller or the page."""
        head = [os.fsencode(word) for word in (*RESTOW, name)]
        for pid, words in _commands():
            if words[: len(head)] == head and os.fsencode(self.config) in words and not self._is_other(pid):
                return process(pid)
        return None

    def jvm(self, consumer: Process) -> Process | None:
        below = {known.pid: known for known in descendants(consumer.pid)}
        return next((below[pid] for pid, words in _commands() if pid in below and words[0].endswith(b"java")), None)

    def maintenance(self) -> Process | None:
        """A compaction or a vacuum that is running."""
        mark = os.fsencode(self.directory / "lake")
        for pid, words in _commands():
            if MAINTENANCE in words and any(word.startswith(mark) for word in words):
                return process(pid)
        return None

    def _is_other(self, pid: int) -> bool:
        return any(each.pid == pid for each in self._others)

    def _write_settings(self, bootstrap: str) -> None:
        head = SETTINGS.format(
            bootstrap=json.dumps(bootstrap),
            group=GROUP,
            directory=json.dumps(str(self.volumes)),
            consumer=CONSUMERS[self.pipeline],
            capacity=CAPACITY_BYTES_PER_S,
            grace_s=GRACE_S,
            port=choose_ports(1)[0],
        )
        tables = {topic: "table.db" if self.pipeline == LIGHT else f"lake/{topic}" for topic in TOPICS}
        transform = 'transform = "soak_transforms:ids"\n' if self.pipeline == SPARK else ""
        parts = (
            f"[consume.{topic}]\ntable = {json.dumps(str(self.directory / table))}\n{transform}"
            for topic, table in tables.items()
        )
        self.config.write_text(head + "".join(parts))
        # Transforms are imported from the directory of restow.toml.
        shutil.copyfile(Path(__file__).with_name("transforms.py"), self.directory / "soak_transforms.py")


def kill(known: Process | None) -> bool:
    if known is None:
        return False
    send(known, signal.SIGKILL)
    return True


def _commands() -> Iterator[tuple[int, list[bytes]]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            yield int(entry.name), words
