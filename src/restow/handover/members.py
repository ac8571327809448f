"""The contenders beside restow: confluent-kafka clients in a consumer group, each a process that ends with this one."""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from restow.errors import RestowError
from restow.handover.contender import TOPIC, Contender, Setting
from restow.study.handover import STATIC, Progress

END_WITHIN_S: Final = 20.0
RESTARTED_AFTER_S: Final = 0.5
"""A static member that was killed is started again after this time, as a supervisor would."""


@contextmanager
def running(protocol: str, setting: Setting) -> Iterator[Contender]:
    group = MemberGroup(protocol, setting)
    try:
        group.start()
        group.start()
        yield group
    finally:
        group.end()


@dataclass
class Member:
    name: str
    """Of the process: a member that is started again has another one."""
    instance: str
    process: "subprocess.Popen[bytes]"
    file: IO[str]
    begun: str = ""
    """A line without its end."""
    offsets: Counter[tuple[int, int]] = field(default_factory=Counter)


class MemberGroup:
    owners_after_kill: int | None
    owners_after_mend: int | None = 2

    def __init__(self, protocol: str, setting: Setting) -> None:
        self._protocol, self._setting = protocol, setting
        self._all: list[Member] = []
        self._members: list[Member] = []
        self._is_static = protocol == STATIC
        self.owners_after_kill = 2 if self._is_static else 1

    def start(self, instance: str | None = None) -> None:
        name = f"member-{len(self._all) + 1}"
        file = self._setting.directory / f"{name}.txt"
        file.touch()
        options = {
            "bootstrap": self._setting.kafka.bootstrap,
            "group": f"bench-{self._protocol}",
            "topic": TOPIC,
            "protocol": self._protocol,
            "instance": (instance or name) if self._is_static else None,
            "file": str(file),
        }
        with (self._setting.directory / f"{name}.err").open("wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "restow.handover.member", json.dumps(options)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        member = Member(name, instance or name, process, file.open())
        self._all.append(member)
        self._members.append(member)

    def new_progress(self) -> list[Progress]:
        for member in self._members:
            if member.process.poll() is not None:
                errors = Path(member.file.name).with_suffix(".err").read_text()
                raise RestowError(f"a member has ended: {errors[-500:]}")
        return [each for member in self._all for each in _new(member)]

    def join(self) -> None:
        self.start()

    def leave(self) -> None:
        self._members.pop().process.terminate()

    def kill(self) -> None:
        victim = self._members.pop(0)
        victim.process.kill()
        victim.process.wait()
        if self._is_static:
            time.sleep(RESTARTED_AFTER_S)
            self.start(victim.instance)

    def mend(self) -> None:
        if not self._is_static:
            self.start()

    def copies(self) -> Mapping[tuple[int, int], int]:
        return sum((member.offsets for member in self._all), Counter())

    def end(self) -> None:
        for member in self._all:
            assert member.process.stdin
            member.process.stdin.close()
        for member in self._all:
            try:
                member.process.wait(END_WITHIN_S)
            except subprocess.TimeoutExpired:
                member.process.kill()
                member.process.wait()
            member.file.close()


def _new(member: Member) -> Iterator[Progress]:
    *lines, member.begun = (member.begun + member.file.read()).split("\n")
    for line in lines:
        time_s, partition, first, after = line.split()
        member.offsets.update((int(partition), offset) for offset in range(int(first), int(after)))
        yield Progress(int(partition), int(first), int(after), float(time_s), member.name)
