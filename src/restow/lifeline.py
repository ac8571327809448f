"""The small process between restow and a Java process: `python keeper.py LIFELINE DOOMED COMMAND…`. Run by node.py.

Java must never outlive its owner, whatever ends the owner. LIFELINE is the reading end of a pipe whose other end the
owner alone holds: when it closes, Java is asked to end, then made to, and DOOMED (a directory, or nothing) is removed.
SIGTERM asks Java to end, SIGUSR1 kills it; this process ends when Java has, with its exit code.

Should this process be killed itself, the kernel kills Java with it. For the owner the kernel's way would not do: it
watches the thread that started a child, not the process.

It imports nothing of restow, so that it starts in a few milliseconds.
"""

import ctypes
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

GRACE_S = 10.0
SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux's prctl


def main(lifeline: int, doomed: str, command: list[str]) -> int:
    os.set_inheritable(lifeline, False)
    _allow_many_files()
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        preexec_fn=_die_with(os.getpid()),  # noqa: PLW1509  unsafe beside other threads; there is one thread yet
    )
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    signal.signal(signal.SIGUSR1, lambda *_: child.kill())
    orphaned = threading.Event()
    threading.Thread(target=_watch, args=(lifeline, child, orphaned), daemon=True).start()
    code = child.wait()
    if orphaned.is_set() and doomed:
        shutil.rmtree(doomed, ignore_errors=True)
    return code if code >= 0 else 128 - code


def _watch(lifeline: int, child: "subprocess.Popen[bytes]", orphaned: threading.Event) -> None:
    os.read(lifeline, 1)  # nobody ever writes: it returns when the owner is gone
    orphaned.set()
    child.terminate()
    try:
        child.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        child.kill()


def _die_with(keeper: int) -> Callable[[], None] | None:
    """What the child runs before it becomes Java."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl

    def ask_kernel() -> None:
        prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != keeper:  # it died before the kernel was asked
            os._exit(1)

    return ask_kernel


def _allow_many_files() -> None:
    """A broker holds files open for every partition; the usual soft limit of 1,024 is for small programs."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
