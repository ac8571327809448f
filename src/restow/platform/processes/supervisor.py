"""The supervisor process of one consumer: starts it, restarts it with backoff, ends it, as wish.json says.

`spawning.py` starts it with `COMMAND HOME`, in a session of its own, with its signals blocked. It reads wish.json every
second, and at once on SIGHUP, so that a controller which dies between writing and signalling costs a second. On SIGTERM
it ends the consumer and itself; wish.json stays, and the next look of a controller starts a new supervisor.

It has one thread and no signal handlers: it fetches signals between two turns. It loads nothing beyond the standard
library and a few modules of restow, and starts in a fraction of a consumer's time. __init__.py has the reasons.
"""

import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from restow.backoff import Backoff, News
from restow.durable import ONLY_OWNER_FILE, LineWriter, try_lock
from restow.platform.processes.children import adopt_orphans, end_others, kill_others, reap, start
from restow.platform.processes.files import MARK, DesiredState, Home, Status
from restow.platform.processes.linux import Process, process, this_process
from restow.platform.processes.logs import last_lines, line_of, log_of, rotate, write_line

PROGRAM: Final = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from restow.platform.processes.supervisor import main; sys.exit(main(sys.argv[2]))"
)
COMMAND: Final = (sys.executable, "-I", "-S", "-c", PROGRAM, str(Path(__file__).parents[3]))

SIGNALS: Final = (signal.SIGCHLD, signal.SIGHUP, signal.SIGTERM, signal.SIGINT)
"""The signals it fetches; blocked from before it starts."""

TURN_EVERY_S: Final = 1.0
RESTART: Final = Backoff(first_s=0.5, longest_s=30.0)
STABLE_AFTER_S: Final = 60.0
"""A consumer that ran this long and then crashes starts the backoff from its first pause."""

MOST_UNLOGGED: Final = 100
"""A consumer that can't start on a full disk adds a line every 30 s; the newest are kept."""

MOST_FILES: Final = 1 << 20


def main(home: str) -> int:
    os.closerange(3, MOST_FILES)  # the controller's descriptors, such as its connections, must not stay open here
    try:
        lock = os.open(f"{home}/keeper.lock", os.O_WRONLY | os.O_CREAT, ONLY_OWNER_FILE)
    except FileNotFoundError:
        return 0  # the consumer is gone by now
    if try_lock(lock):  # otherwise it has a supervisor; held for as long as this process lives
        Supervisor(Home(Path(home))).run()
    return 0


@dataclass(slots=True)
class Child:
    pid: int
    known: Process | None
    started_s: float
    log_begins: int
    """Where its own output begins in the log."""


@dataclass(slots=True)
class Supervisor:
    home: Home
    desired: DesiredState | None = None
    """The last that could be read."""
    wanted: bool = True
    child: Child | None = None
    generation: int = 0
    """Of the desired state that is in force."""
    crashes: int = 0
    reason: str = ""
    ended: int = 0
    """How often the consumer ended without being asked to."""
    restart_at_s: float = 0.0
    """When a crashed consumer is started again, by the monotonic clock."""
    itself: Process = field(default_factory=this_process)
    unlogged: list[str] = field(default_factory=list)
    """Lines that are not in the consumer's log yet, because the disk is full."""
    lines: LineWriter = field(default_factory=LineWriter)
    news: News = field(default_factory=News)

    def run(self) -> None:
        adopt_orphans()
        self._write_status()
        self._read_desired()
        end_others(self.home.path, self._grace_s)
        while self._turn():
            until_restart_s = max(0.0, self.restart_at_s - time.monotonic())
            self._wait(TURN_EVERY_S if self.child else min(TURN_EVERY_S, until_restart_s))
        self._end_child()

    @property
    def _grace_s(self) -> float:
        return self.desired.grace_s if self.desired else 0.0

    def _turn(self) -> bool:
        """Makes the desired state true. Returns False when the consumer is no longer wanted."""
        self._read_desired()
        if not self.desired or not self.wanted:
            return False
        self._notice_crash(self.desired)
        if self.generation != self.desired.generation:
            self.generation, self.crashes, self.restart_at_s = self.desired.generation, 0, 0.0
            if self.child:
                self._end_child()
                return self._turn()  # the desired state may have changed while the child was ending
        if not self.child and time.monotonic() >= self.restart_at_s:
            self._start(self.desired)
        self._keep_log(self.desired)
        self._write_status()
        return True

    def _keep_log(self, desired: DesiredState) -> None:
        try:
            dropped = rotate(log_of(Path(desired.volume)))
        except OSError as error:
            self._complain("rotation", f"the log can't be rotated: {error}")
        else:
            self.news.is_over("rotation")
            if dropped:
                self._log(desired, f"its log up to here was dropped, because the disk is full: {dropped:,} bytes")
        self._write_unlogged(desired)

    def _read_desired(self) -> None:
        try:
            desired = self.home.desired()
        except OSError as error:  # no reason to end a consumer that works
            self._complain("desired state", f"the desired state can't be read: {error}")
            return
        self.news.is_over("desired state")
        self.desired = desired or self.desired
        self.wanted &= desired is not None and desired.wanted  # a deletion is final

    def _wait(self, seconds: float) -> None:
        """Waits for a signal, at most this long."""
        if received := signal.sigtimedwait(SIGNALS, seconds):
            self.wanted &= received.si_signo not in (signal.SIGTERM, signal.SIGINT)

    def _start(self, desired: DesiredState) -> None:
        log = log_of(Path(desired.volume))
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            self._log(desired, "starting it")
            log_begins = log.stat().st_size
            pid = start(desired, self._environment(desired), int(self.home.name.rpartition("-")[2]))
        except OSError as error:  # the disk or the process table is full
            self._crashed(desired, f"it can't be started: {error}")
            return
        self.child = Child(pid, process(pid), time.monotonic(), log_begins)
        self._write_status()

    def _environment(self, desired: DesiredState) -> dict[str, str]:
        own = {"RESTOW_CONSUMER": self.home.name, "RESTOW_CREATION": desired.creation, MARK: str(self.home.path)}
        for name, value in (("RESTOW_MEMORY_MB", desired.memory_mb), ("RESTOW_CORES", desired.cores)):
            if value is not None:
                own[name] = f"{value:g}" if isinstance(value, float) else str(value)
        return {**os.environ, **desired.environment, **own}

    def _notice_crash(self, desired: DesiredState) -> None:
        """The child ended without being asked to."""
        ended = reap()
        if not self.child or self.child.pid not in ended:
            return
        child, self.child = self.child, None
        kill_others(self.home.path)
        self.ended += 1
        if time.monotonic() - child.started_s >= STABLE_AFTER_S:
            self.crashes = 0
        quoted = last_lines(Path(desired.volume), child.log_begins, desired.environment.values())
        self._crashed(desired, how_it_ended(ended[child.pid]), quoted)

    def _crashed(self, desired: DesiredState, how: str, quoted: str = "") -> None:
        self.crashes += 1
        pause_s = RESTART.pause_s(self.crashes)
        self.restart_at_s = time.monotonic() + pause_s
        self.reason = f"{how}; its log ends: {quoted}" if quoted else how
        self._log(desired, f"{how}; starting it again in {pause_s:g} s")
        self._write_status()

    def _end_child(self) -> None:
        """SIGTERM, the grace time, SIGKILL. No process is left below this one afterwards."""
        if self.child:
            child, self.child = self.child, None
            deadline_s = time.monotonic() + self._grace_s
            os.kill(child.pid, signal.SIGTERM)  # not reaped yet, so that the pid can't have been reused
            while (is_running := child.pid not in reap()) and (left_s := deadline_s - time.monotonic()) > 0:
                self._wait(min(left_s, TURN_EVERY_S))
            if self.desired:
                killing = f"killing it: it still runs {self._grace_s:g} s after SIGTERM"
                self._log(self.desired, killing if is_running else "it ended after SIGTERM")
        kill_others(self.home.path)
        reap()
        self._write_status()

    def _write_status(self) -> None:
        """Unless the file has the same content already."""
        child = self.child.known if self.child else None
        status = Status(self.itself, child, self.crashes, self.reason, self.ended)
        try:
            if self.home.status() != status:
                self.home.set_status(status)
        except FileNotFoundError:
            pass  # the home was removed, and wish.json with it
        except OSError as error:  # the disk is full; the next turn tries again
            self._complain("status", f"the status can't be written: {error}")
        else:
            self.news.is_over("status")

    def _log(self, desired: DesiredState, line: str) -> None:
        """Into the consumer's log, where operators look for it; as soon as there is room, if the disk is full."""
        self.unlogged = [*self.unlogged, line_of(f"{self.home.name}: {line}")][-MOST_UNLOGGED:]
        self._write_unlogged(desired)

    def _write_unlogged(self, desired: DesiredState) -> None:
        while self.unlogged:
            try:
                write_line(Path(desired.volume), self.unlogged[0], self.lines)
            except OSError as error:
                self._complain("log", f"the log can't be written: {error}")
                return
            del self.unlogged[0]
        self.news.is_over("log")

    def _complain(self, subject: str, line: str) -> None:
        """Into keeper.log in the home, once while a condition lasts. On a full disk that fails too: nothing here may
        end the supervisor, and the consumer with it."""
        if self.news.is_new(subject, line):
            with suppress(OSError):
                os.write(sys.stderr.fileno(), f"{line}\n".encode())


def how_it_ended(status: int) -> str:
    """How a process ended that wasn't asked to, from its wait status."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return f"it was killed by {signal.Signals(-code).name}"
    return f"it ended with exit code {code}" + (" without being asked to" if code == 0 else "")
