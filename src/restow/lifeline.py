"""Runs a program that must not outlive its owner: `python lifeline.py PIPE DOOMED PROGRAM…`, built by `command`.

The embedded broker's Java, the demo's roles and the test cluster's programs run below this process. PIPE is the read
end of a pipe whose write end the owner alone holds. However the owner dies, the pipe closes; then the program gets
SIGTERM, SIGKILL after a grace time, and the directory DOOMED (empty: none) is removed. SIGTERM to this process is
passed on; SIGUSR1 kills the program. This process ends after the program, with its exit code.

If this process itself is killed, the kernel kills the program with it (PR_SET_PDEATHSIG). The owner can't use that
signal directly: it is tied to the thread that started the child, not to the process.

It runs without site-packages and imports only the standard library, so that it starts in a few milliseconds.
"""

import ctypes
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence

GRACE_S = 10.0
SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux's prctl


def command(pipe: int, doomed: "os.PathLike[str] | None", program: Sequence[str]) -> list[str]:
    """The command line that runs `program` below a lifeline. The caller passes `pipe` on to it (`pass_fds`)."""
    return [sys.executable, "-I", "-S", __file__, str(pipe), str(doomed or ""), *program]


def main(pipe: int, doomed: str, program: list[str]) -> int:
    os.set_inheritable(pipe, False)
    _raise_file_limit()
    child = subprocess.Popen(
        program,
        stdin=subprocess.DEVNULL,
        preexec_fn=_die_with(os.getpid()),  # noqa: PLW1509  unsafe with threads; this process has only one yet
    )
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    signal.signal(signal.SIGUSR1, lambda *_: child.kill())
    orphaned = threading.Event()
    threading.Thread(target=_watch, args=(pipe, child, orphaned), daemon=True).start()
    code = child.wait()
    if orphaned.is_set() and doomed:
        shutil.rmtree(doomed, ignore_errors=True)
    return code if code >= 0 else 128 - code


def _watch(pipe: int, child: "subprocess.Popen[bytes]", orphaned: threading.Event) -> None:
    os.read(pipe, 1)  # the owner never writes: this returns when the owner is gone
    orphaned.set()
    child.terminate()
    try:
        child.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        child.kill()


def _die_with(parent: int) -> Callable[[], None] | None:
    """What the child runs between fork and exec."""
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl

    def ask_kernel() -> None:
        prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:  # the parent died before prctl took effect
            os._exit(1)

    return ask_kernel


def _raise_file_limit() -> None:
    """A broker keeps files open for every partition; the usual soft limit of 1,024 is too low for it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
