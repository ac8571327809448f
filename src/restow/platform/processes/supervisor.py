"""The keeper of one consumer: starts it, restarts it after growing pauses, ends it, as its wish says. See __init__.py.

`spawning.py` starts it with `COMMAND HOME`, in a session of its own, with its signals held back. It looks at the wish
every second, and at once on SIGHUP; so a controller that dies between writing and telling has lost a second. On SIGTERM
it ends its consumer and itself; the wish stays, and the next look of a controller gives it a new keeper.

It has one thread and no handlers: signals are fetched between two looks. It loads nothing beyond the standard library
and its neighbours, and starts in a fraction of what a consumer takes.
"""

import fcntl
import os
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from restow.platform.processes.children import adopt_orphans, begin, end_others, kill_others, reap
from restow.platform.processes.disk import ONLY_OWNER_FILE
from restow.platform.processes.files import MARK, Home, Status, Wish
from restow.platform.processes.linux import Process, process, this_process
from restow.platform.processes.logs import keep_short, last_words, log_of, write_line

PROGRAM: Final = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from restow.platform.processes.supervisor import main; sys.exit(main(sys.argv[2]))"
)
COMMAND: Final = (sys.executable, "-I", "-S", "-c", PROGRAM, str(Path(__file__).parents[3]))

SIGNALS: Final = (signal.SIGCHLD, signal.SIGHUP, signal.SIGTERM, signal.SIGINT)
"""Those it fetches; held back from before it starts."""

LOOK_EVERY_S: Final = 1.0
FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 30.0
WELL_AFTER_S: Final = 60.0
"""One that ran so long is no longer in a row of falls: it is restarted as soon as the first time."""

MOST_FILES: Final = 1 << 20


def main(home: str) -> int:
    os.closerange(3, MOST_FILES)  # what the controller had open, like its connections, must not stay open here
    try:
        lock = os.open(f"{home}/keeper.lock", os.O_WRONLY | os.O_CREAT, ONLY_OWNER_FILE)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (FileNotFoundError, BlockingIOError):
        return 0  # the consumer is gone by now, or it has a keeper
    Keeper(Home(Path(home))).run()  # the lock is held for as long as this process lives
    return 0


@dataclass(slots=True)
class Child:
    pid: int
    known: Process | None
    begun_s: float
    log_begins: int
    """Where its own words begin in the log."""


@dataclass(slots=True)
class Keeper:
    home: Home
    wish: Wish | None = None
    """The last one that could be read."""
    wanted: bool = True
    child: Child | None = None
    generation: int = 0
    """Of the wish that is being made true."""
    falls: int = 0
    reason: str = ""
    due_s: float = 0.0
    """When a consumer that fell is to be started again, by the clock that only goes forward."""
    itself: Process = field(default_factory=this_process)

    def run(self) -> None:
        adopt_orphans()
        self._tell()
        self._read_wish()
        end_others(self.home.path, self._grace_s)
        while self._look():
            self._wait(LOOK_EVERY_S if self.child else min(LOOK_EVERY_S, max(0.0, self.due_s - time.monotonic())))
        self._end_child()

    @property
    def _grace_s(self) -> float:
        return self.wish.grace_s if self.wish else 0.0

    def _look(self) -> bool:
        """Makes true what is wished for; whether there is something left to keep."""
        self._read_wish()
        if not self.wish or not self.wanted:
            return False
        self._notice_fall(self.wish)
        if self.generation != self.wish.generation:
            self.generation, self.falls, self.due_s = self.wish.generation, 0, 0.0
            if self.child:
                self._end_child()
                return self._look()  # the wish may have changed while it was ending
        if not self.child and time.monotonic() >= self.due_s:
            self._begin(self.wish)
        keep_short(Path(self.wish.volume))
        self._tell()
        return True

    def _read_wish(self) -> None:
        try:
            wish = self.home.wish()
        except OSError as error:  # no reason to end a consumer that works
            complain(f"the wish can't be read: {error}")
            return
        self.wish = wish or self.wish
        self.wanted &= wish is not None and wish.wanted  # never again, once it isn't

    def _wait(self, seconds: float) -> None:
        """For a signal, at most so long."""
        if received := signal.sigtimedwait(SIGNALS, seconds):
            self.wanted &= received.si_signo not in (signal.SIGTERM, signal.SIGINT)

    def _begin(self, wish: Wish) -> None:
        log = log_of(Path(wish.volume))
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            self._say(wish, "starting it")
            log_begins = log.stat().st_size
            pid = begin(wish, self._environment(wish), int(self.home.name.rpartition("-")[2]))
        except OSError as error:  # no room on the disk, no room for a process
            self._fell(wish, f"it can't be started: {error}")
            return
        self.child = Child(pid, process(pid), time.monotonic(), log_begins)
        self._tell()

    def _environment(self, wish: Wish) -> dict[str, str]:
        own = {"RESTOW_CONSUMER": self.home.name, "RESTOW_CREATION": wish.made, MARK: str(self.home.path)}
        for name, value in (("RESTOW_MEMORY_MB", wish.memory_mb), ("RESTOW_CORES", wish.cores)):
            if value is not None:
                own[name] = f"{value:g}" if isinstance(value, float) else str(value)
        return {**os.environ, **wish.environment, **own}

    def _notice_fall(self, wish: Wish) -> None:
        """The child has ended, and nobody told it to."""
        ended = reap()
        if not self.child or self.child.pid not in ended:
            return
        child, self.child = self.child, None
        kill_others(self.home.path)
        if time.monotonic() - child.begun_s >= WELL_AFTER_S:
            self.falls = 0
        self._fell(
            wish, in_words(ended[child.pid]), last_words(Path(wish.volume), child.log_begins, wish.environment.values())
        )

    def _fell(self, wish: Wish, words: str, log_ends: str = "") -> None:
        self.falls += 1
        pause_s = min(FIRST_PAUSE_S * 2 ** min(self.falls - 1, 10), LONGEST_PAUSE_S)
        self.due_s = time.monotonic() + pause_s
        self.reason = f"{words}; its log ends: {log_ends}" if log_ends else words
        self._say(wish, f"{words}; starting it again in {pause_s:g} s")
        self._tell()

    def _end_child(self) -> None:
        """SIGTERM, the grace time, SIGKILL; afterwards nothing is left below this process."""
        if self.child:
            child, self.child = self.child, None
            deadline_s = time.monotonic() + self._grace_s
            os.kill(child.pid, signal.SIGTERM)  # not reaped yet, so its id is still its own
            while (is_there := child.pid not in reap()) and (left_s := deadline_s - time.monotonic()) > 0:
                self._wait(min(left_s, LOOK_EVERY_S))
            if self.wish:
                words = f"killing it, {self._grace_s:g} s after it was told to end" if is_there else "it ended, as told"
                self._say(self.wish, words)
        kill_others(self.home.path)
        reap()
        self._tell()

    def _tell(self) -> None:
        """Where things stand, if that isn't written already."""
        status = Status(self.itself, self.child.known if self.child else None, self.falls, self.reason)
        try:
            if self.home.status() != status:
                self.home.set_status(status)
        except FileNotFoundError:
            pass  # somebody removed the home, and the wish with it
        except OSError as error:  # a full disk; the next look tries again
            complain(f"the status can't be written: {error}")

    def _say(self, wish: Wish, words: str) -> None:
        """Into the consumer's log, where people look for it."""
        try:
            write_line(Path(wish.volume), f"keeper of {self.home.name}: {words}")
        except OSError as error:
            complain(f"{words}; the log can't be written: {error}")


def complain(line: str) -> None:
    """To keeper.log in the home."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def in_words(status: int) -> str:
    """How a process ended that wasn't told to."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return f"it was ended by {signal.Signals(-code).name}"
    return f"it ended with exit code {code}" + (", though nobody told it to end" if code == 0 else "")
