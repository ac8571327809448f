"""The processes of a node: `python node_process.py outside|inside SETTINGS`. Run by node.py, under restow's keeper.

A node is containerd, a kubelet, and pods with all that they start. They live in a process namespace and in a view of
the file system of their own. When the first process of that namespace ends, by whatever cause, the kernel ends all
others and forgets every mount: nothing can stay behind but empty control groups, which the process outside removes.

    keeper ── outside ── unshare ── inside ──┬── containerd ── shims ── pods
                                             └── kubelet

It imports nothing of restow, so that it starts in a few milliseconds.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CGROUPS = Path("/sys/fs/cgroup")
SOCKET = Path("/run/containerd/containerd.sock")
WEIGHTS = {"cpu.weight": 1_000, "cpu.shares": 10_240}
"""Ten times the usual, in the words of the second and of the first version of control groups."""

START_WITHIN_S = 60.0
ASK_EVERY_S = 0.02

Settings = Mapping[str, Any]


def outside(settings: Settings, settings_file: str) -> int:
    groups = [top / settings["cgroup"] for top in cgroup_tops()]
    for group in groups:
        make_cgroup(group)
    namespaces = ("unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc")
    inner = (sys.executable, "-I", "-S", __file__, "inside", settings_file)
    child = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *namespaces, *inner])
    signal.signal(signal.SIGTERM, lambda *_: child.kill())
    try:
        return child.wait()
    finally:
        child.kill()
        child.wait()
        for group in groups:
            remove_cgroup(group)


def cgroup_tops() -> list[Path]:
    """One for each hierarchy: of the second version there is one in all, of the first one for each kind of resource."""
    if (CGROUPS / "cgroup.controllers").exists():
        return [CGROUPS]
    return [top for top in sorted(CGROUPS.iterdir()) if (top / "cgroup.procs").exists() and not top.is_symlink()]


def make_cgroup(group: Path) -> None:
    """The kernel shares processors among groups, and a process without one counts as a whole group. All pods together
    would be one process among others; they shall count for several."""
    group.mkdir()
    for name, weight in WEIGHTS.items():
        if (group / name).exists():
            (group / name).write_text(str(weight))


def remove_cgroup(group: Path) -> None:
    """With those in it, from the innermost on. Processes that were just killed may hold one for a moment."""
    deadline = time.monotonic() + START_WITHIN_S
    while group.exists() and time.monotonic() < deadline:
        for directory, _, _ in os.walk(group, topdown=False):
            try:
                Path(directory).rmdir()
            except OSError:
                time.sleep(ASK_EVERY_S)


def inside(settings: Settings) -> int:
    for source, target in settings["directories"].items():
        Path(target).mkdir(parents=True, exist_ok=True)
        bind(source, target)
    for source, target in settings["files"].items():
        bind(source, target)
    containerd = start("containerd", settings)
    wait_for_containerd(settings)
    subprocess.run(settings["import"], check=True)
    kubelet = start("kubelet", settings)
    while True:
        ended, status = os.wait()  # also those of others that were left to us, as the first process of the namespace
        if ended in (containerd, kubelet):
            return os.waitstatus_to_exitcode(status) or 1


def bind(source: str, target: str) -> None:
    subprocess.run(["mount", "--bind", source, target], check=True)


def start(name: str, settings: Settings) -> int:
    with Path(settings["logs"][name]).open("ab") as log:
        return subprocess.Popen(settings[name], stdin=subprocess.DEVNULL, stdout=log, stderr=log).pid


def wait_for_containerd(settings: Settings) -> None:
    deadline = time.monotonic() + START_WITHIN_S
    while subprocess.run(settings["ask"], capture_output=True, check=False).returncode:
        if time.monotonic() > deadline:
            sys.exit(f"containerd does not answer at {SOCKET}")
        time.sleep(ASK_EVERY_S)


if __name__ == "__main__":
    given = json.loads(Path(sys.argv[2]).read_text())
    sys.exit(outside(given, sys.argv[2]) if sys.argv[1] == "outside" else inside(given))
