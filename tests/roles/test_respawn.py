"""The parent of a container's consumer: which ends start it again, and which end the container."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.conftest import Eventually

CONSUMER = """
import logging, os, signal, sys
from restow.roles.respawn import respawning

logging.basicConfig(format="%(message)s", stream=sys.stdout)
if (code := respawning(float(sys.argv[1]))) is not None:
    sys.exit(code)
print("child", os.getpid(), flush=True)
if sys.argv[2:] == ["ends"]:
    sys.exit(7)
if sys.argv[2:] == ["cleans up"]:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
while True:
    signal.pause()
"""


class Parent:
    def __init__(self, stable_after_s: float, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-c", CONSUMER, f"{stable_after_s}", *arguments],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def child(self) -> int:
        found = re.fullmatch(r"child (\d+)", line := self.line())
        assert found, line
        return int(found[1])


@pytest.fixture
def begun() -> Iterator[list[Parent]]:
    parents: list[Parent] = []
    yield parents
    for parent in parents:
        with suppress(ProcessLookupError):
            os.killpg(parent.process.pid, signal.SIGKILL)  # with its child, which outlives it outside of a container
        parent.process.communicate()


def test_a_crashed_consumer_is_started_again_at_once_in_the_same_container(begun: list[Parent]) -> None:
    begun.append(parent := Parent(0.0))
    first = parent.child()
    os.kill(first, signal.SIGKILL)
    assert parent.line() == "the consumer was killed by SIGKILL; starting it again"
    assert parent.child() != first
    assert parent.process.poll() is None


@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, 137), (signal.SIGSEGV, 139)])
def test_a_consumer_that_crashes_soon_after_its_start_ends_its_container(
    begun: list[Parent], number: signal.Signals, code: int
) -> None:
    begun.append(parent := Parent(3600.0))
    os.kill(parent.child(), number)
    assert parent.process.wait(60) == code


def test_a_consumer_that_ends_by_itself_ends_its_container_with_its_own_exit_code(begun: list[Parent]) -> None:
    begun.append(parent := Parent(0.0, "ends"))
    parent.child()
    assert parent.process.wait(60) == 7


@pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGINT])
def test_a_request_to_end_reaches_the_consumer_and_nothing_is_started_again(
    begun: list[Parent], asked: signal.Signals, eventually: Eventually
) -> None:
    begun.append(parent := Parent(0.0, "cleans up"))
    child = parent.child()
    eventually(lambda: is_caught(child, signal.SIGTERM))
    parent.process.send_signal(asked)
    assert parent.process.wait(60) == 0
    assert parent.line() == ""


def is_caught(process: int, number: signal.Signals) -> bool:
    """Whether the process has installed its handler."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    [mask] = (int(line.split()[1], 16) for line in lines if line.startswith("SigCgt"))
    return bool(mask >> (number - 1) & 1)


def test_a_consumer_that_dies_of_a_request_to_end_is_not_started_again(begun: list[Parent]) -> None:
    begun.append(parent := Parent(0.0))
    parent.child()
    parent.process.send_signal(signal.SIGTERM)
    assert parent.process.wait(60) == 143
