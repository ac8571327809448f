"""Has a consumer's JVM discard its compiled code at full load, and shows how soon the consumer is fast again.

    .venv/bin/python -m bench.discarded_code          on an idle machine; two minutes

A JVM discards code when classes turn out to be other than what the code was compiled for. It then runs the slow
versions until its compiler, which shares the consumer's core, has made fast ones. This starts a flight recording in the
JVM, by its attach protocol: with the first recording a JVM discards all compiled code at once.
"""

import argparse
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from restow.cli.bench.consumer import local_platform
from restow.kafka.embedded.broker import EmbeddedKafka
from restow.platform.processes.linux import descendants
from restow.scratch import temporary
from restow.settings import Kafka
from restow.study.throughput import BASE, Commit
from restow.throughput import backlog, consumer
from restow.throughput.contender import Contender, Setting
from restow.throughput.measuring import Timing
from restow.throughput.run import records_for, shared_out
from restow.throughput.usage import cores, on_cores

WARM_S: Final = 45.0
"""From the start of the consumer until the code is discarded."""
AFTER_S: Final = 45.0
PIECE_S: Final = 5.0
LOOK_S: Final = 0.05
TARGET_S: Final = 15.0
"""No cycle may take longer, with `longest_cycle_s` 10."""
ATTACHED_WITHIN_S: Final = 60.0
MAIN_CLASS: Final = b"org.apache.spark.deploy.SparkSubmit"


def main() -> int:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    machine, timing = cores(), Timing(WARM_S, AFTER_S)
    own, others = shared_out(machine, BASE.cores)
    with temporary("bench") as directory, on_cores(others), EmbeddedKafka() as broker:
        setting = Setting(Kafka(broker.bootstrap), BASE, tuple(own), directory)
        with on_cores(machine):
            backlog.create(setting.kafka, BASE)
            backlog.fill(setting.kafka, BASE, records_for(BASE, timing), lambda _: None)
        with consumer.running(setting, local_platform) as contender:
            commits, at_s = observed(contender)
    return shown(commits, at_s)


def observed(contender: Contender) -> tuple[list[Commit], float]:
    """All commits, and when the code was discarded."""
    commits: list[Commit] = []
    follow(contender, commits, contender.begun_s + WARM_S)
    at_s = time.time()
    discard_code(jvm_of(contender.process))
    follow(contender, commits, at_s + AFTER_S)
    return commits, at_s


def follow(contender: Contender, commits: list[Commit], until_s: float) -> None:
    while time.time() < until_s:
        commits += contender.new_commits()
        time.sleep(LOOK_S)


def jvm_of(process: int) -> int:
    [found] = [
        each.pid for each in descendants(process) if MAIN_CLASS in Path(f"/proc/{each.pid}/cmdline").read_bytes()
    ]
    return found


def discard_code(jvm: int) -> None:
    """With the first recording the JVM redefines classes, and keeps no code that depended on them."""
    answer = attached(jvm, "JFR.start name=restow") + attached(jvm, "JFR.stop name=restow")
    assert "Started recording" in answer, answer


def attached(jvm: int, command: str) -> str:
    """What the JVM answers to a diagnostic command. A JVM that finds the file when it gets the signal listens."""
    door = Path(f"/tmp/.java_pid{jvm}")
    asked = Path(f"/proc/{jvm}/cwd/.attach_pid{jvm}")
    if not door.exists():
        asked.touch()
        os.kill(jvm, signal.SIGQUIT)
        until_s = time.monotonic() + ATTACHED_WITHIN_S
        while not door.exists():
            assert time.monotonic() < until_s, "the JVM does not answer"
            time.sleep(LOOK_S)
        asked.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(door))
        line.sendall(b"\0".join((b"1", b"jcmd", command.encode(), b"", b"", b"")))
        return b"".join(iter(lambda: line.recv(4096), b"")).decode()


def shown(commits: Sequence[Commit], at_s: float) -> int:
    times_s = [commit.time_s for commit in commits]
    last = max(number for number, time_s in enumerate(times_s) if time_s <= at_s)
    before, after = longest(times_s[: last + 1]), longest(times_s[last:])
    for begin in range(int(-2 * PIECE_S), int(AFTER_S), int(PIECE_S)):
        stored = sum(commit.records for commit in commits if begin <= commit.time_s - at_s < begin + PIECE_S)
        say(f"{begin:4} to {begin + PIECE_S:3.0f} s: {stored * BASE.record_bytes / PIECE_S / 1e6:6.1f} MB/s")
    missed = "" if after <= TARGET_S else ", MISSED"
    say(
        f"longest time between two commits: {before:.1f} s before, {after:.1f} s after (at most {TARGET_S:g} s){missed}"
    )
    return int(after > TARGET_S)


def longest(times_s: Sequence[float]) -> float:
    return max((later - earlier for earlier, later in pairwise(times_s)), default=AFTER_S)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
