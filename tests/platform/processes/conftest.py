"""Consumers as local processes: a directory for them, and a small real program that runs as one."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from restow.model import ConsumerId, SortedMapping
from restow.platform.processes.ending import end_group
from restow.platform.processes.linux import Process, process
from restow.platform.processes.platform import LocalProcesses
from restow.protocol.consumer_settings import ConsumerSettings

Eventually = Callable[[Callable[[], object]], None]
GROUP = "a"

PROGRAM = """
import os, pathlib, signal, subprocess, sys, time

volume, behaviour = pathlib.Path(sys.argv[1]), os.environ["BEHAVIOUR"]
if behaviour == "failing":
    sys.exit(f"no table at {os.environ['TABLE']}")
if behaviour == "finished":
    sys.exit(0)
signal.signal(signal.SIGTERM, signal.SIG_IGN if behaviour == "stubborn" else lambda *_: sys.exit(0))
if behaviour == "parent":
    subprocess.run(["sh", "-c", "setsid sh -c 'echo $$ > $ORPHAN; exec sleep 1000' &"])
new = volume / "process.new"
new.write_text(str(os.getpid()))
new.rename(volume / "process")
while True:
    time.sleep(1)
"""


def behaving(behaviour: str, **env: str) -> ConsumerSettings:
    return ConsumerSettings(env=SortedMapping({"BEHAVIOUR": behaviour, **env}))


class ProcessMaker:
    """A directory for consumers as processes. See PlatformMaker in tests/support/platform_contract.py."""

    well = behaving("well")
    stubborn = behaving("stubborn")
    failing = behaving("failing", TABLE="hush-hush")

    def __init__(self, directory: Path, eventually: Eventually, keep_volumes: bool = True) -> None:
        self.directory, self.keep_volumes = directory, keep_volumes
        self.advance = eventually

    def make(self, group: str = GROUP) -> LocalProcesses:
        return LocalProcesses(group, self.directory, self.command, grace_s=0.5, keep_volumes=self.keep_volumes)

    def command(self, consumer: ConsumerId, volume: Path, settings: ConsumerSettings) -> tuple[str, ...]:
        assert volume == self.volume(consumer, volume.name.rpartition("-consumer-")[0])
        assert "BEHAVIOUR" in settings.env
        return (sys.executable, "-I", "-S", "-c", PROGRAM, str(volume))

    def volume(self, consumer: ConsumerId, group: str = GROUP) -> Path:
        return self.directory / f"{group}-consumer-{consumer}"

    def process(self, consumer: ConsumerId) -> Process | None:
        """Returns None until the program handles SIGTERM."""
        try:
            return process(int((self.volume(consumer) / "process").read_text()))
        except FileNotFoundError:
            return None

    def until_works(self, consumer: ConsumerId, instead_of: Process | None = None) -> Process:
        self.advance(lambda: self.process(consumer) not in (None, instead_of))
        found = self.process(consumer)
        assert found
        return found

    def crash(self, consumer: ConsumerId) -> None:
        os.kill(self.until_works(consumer).pid, signal.SIGKILL)

    def write(self, consumer: ConsumerId, text: str) -> None:
        (self.volume(consumer) / "kept").write_text(text)

    def read(self, consumer: ConsumerId) -> str:
        return (self.volume(consumer) / "kept").read_text()


@pytest.fixture
def processes(tmp_path: Path, eventually: Eventually) -> Iterator[ProcessMaker]:
    maker = ProcessMaker(tmp_path / "data", eventually)
    yield maker
    for group in (GROUP, "a-consumer-1"):
        end_group(group, maker.directory, grace_s=0.0, progress=print)
