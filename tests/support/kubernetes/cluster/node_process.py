"""The processes of a node: `python node_process.py outside|inside SETTINGS`. Run by node.py, below restow's lifeline.

A node is containerd, a kubelet, and pods with all their processes, in a PID namespace and a mount namespace of its
own. When the first process of the PID namespace ends, for whatever reason, the kernel kills all others and drops every
mount: only empty control groups are left, which the process outside removes.

    lifeline ── outside ── unshare ── inside ──┬── containerd ── shims ── pods
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
"""Ten times the default, for cgroup v2 and v1."""

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
    """The root of each hierarchy: cgroup v2 has one, v1 one for each controller."""
    if (CGROUPS / "cgroup.controllers").exists():
        return [CGROUPS]
    return [top for top in sorted(CGROUPS.iterdir()) if (top / "cgroup.procs").exists() and not top.is_symlink()]


def make_cgroup(group: Path) -> None:
    """The kernel divides CPU time between groups, and a process outside any group counts like one. Without more
    weight, all pods together would get the share of a single process."""
    group.mkdir()
    for name, weight in WEIGHTS.items():
        if (group / name).exists():
            (group / name).write_text(str(weight))


def remove_cgroup(group: Path) -> None:
    """Removes nested groups first. Processes that were just killed may hold one for a moment."""
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
        ended, status = os.wait()  # orphans too: this is the first process of the namespace
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
