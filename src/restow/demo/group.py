"""The demonstration's processes: a monitor, a controller, and the consumers that the controller starts on Spark."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from restow.demo.load import CAPACITY_BYTES_PER_S, TOPICS
from restow.platform.processes.consumers import LocalProcesses
from restow.platform.processes.ending import end_group

GROUP: Final = "demo"
GRACE_S: Final = 20.0
SETTINGS: Final = """\
[kafka]
bootstrap = "{bootstrap}"
[group]
name = "{group}"
[processes]
directory = "{directory}"
[consumer]
capacity_bytes_per_s = {capacity}
memory_mb = 700
cores = 1.0
report_every_s = 2.0
cycle_s = 1.0
grace_s = {grace_s}
[controller]
look_every_s = 10.0
"""
TOPIC: Final = """\
[consume.{topic}]
table = "{table}"
transform = "restow.demo.shop:{topic}"
"""


class DemoGroup:
    def __init__(self, directory: Path, bootstrap: str) -> None:
        self.directory = directory
        self.processes = directory / "processes"
        self.config = directory / "restow.toml"
        self.log = directory / "events.jsonl"
        self._roles: dict[str, subprocess.Popen[bytes]] = {}
        head = SETTINGS.format(
            bootstrap=bootstrap,
            group=GROUP,
            directory=self.processes,
            capacity=CAPACITY_BYTES_PER_S,
            grace_s=GRACE_S,
        )
        tables = (TOPIC.format(topic=topic, table=self.table(topic)) for topic in TOPICS)
        self.config.write_text(head + "".join(tables))
        self._platform = LocalProcesses(GROUP, self.processes, lambda *_: (), GRACE_S)

    def __enter__(self) -> Self:
        self._start("monitor")
        self._start("controller", "--log", str(self.log))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for role in self._roles.values():
            role.terminate()
        end_group(GROUP, self.processes, GRACE_S, lambda _: None)
        for role in self._roles.values():
            role.wait(GRACE_S)

    def table(self, topic: str) -> Path:
        return self.directory / "lake" / topic

    def said(self, role: str) -> str:
        return (self.directory / f"{role}.txt").read_text(encoding="utf-8", errors="replace")

    def ended(self) -> str | None:
        """Which role has ended that should not have."""
        return next((name for name, process in self._roles.items() if process.poll() is not None), None)

    def consumers(self) -> tuple[int, ...]:
        """Those that are there, whether they are ready or not: each of them costs."""
        return tuple(listed.consumer for listed in self._platform.list() if not listed.leaving)

    def kill(self, consumer: int) -> bool:
        """As an accident would: without a word. False if it can't be found."""
        name = f"{GROUP}-consumer-{consumer}".encode()
        for entry in Path("/proc").iterdir():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
            except OSError:
                continue
            if name in words and str(self.config).encode() in words:
                os.kill(int(entry.name), signal.SIGKILL)
                return True
        return False

    def _start(self, role: str, *arguments: str) -> None:
        command = [sys.executable, "-m", "restow", role, "--config", str(self.config), *arguments]
        with (self.directory / f"{role}.txt").open("wb") as said:
            self._roles[role] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
