"""Builds Kubernetes, once. `tools.py` calls it before tests run.

kube-apiserver, kube-controller-manager, kube-scheduler and kubelet come as one binary (hyperkube/) from the Go module
proxy.
"""

from pathlib import Path

from tests.support import go_programs
from tests.support.go_programs import GoProgram, Progress

HYPERKUBE = Path(__file__).with_name("hyperkube")

VERSION = "1.33.13"
"""As in hyperkube/go.mod. Kubernetes gets its version from the linker's flags."""

MAJOR, MINOR, _ = VERSION.split(".")
NAMES = {"gitVersion": f"v{VERSION}", "gitMajor": MAJOR, "gitMinor": MINOR}
LINKED = " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in NAMES.items())

FLAGS = ("-trimpath", "-gcflags=all=-l -dwarf=false", f"-ldflags=-s -w {LINKED}")
"""For a fast build: no inlining and no debug information. Its speed is not what is tested."""


def cache_dir() -> Path:
    return go_programs.cache_dir() / "kubernetes"


def program() -> GoProgram:
    return GoProgram(
        words="Kubernetes",
        file="hyperkube",
        home=cache_dir(),
        sources=HYPERKUBE,
        flags=FLAGS,
        module="k8s.io/kubernetes",
        oldest_go=(1, 24),
        needs="five minutes and, meanwhile, 4 GB of disk",
    )


def binary() -> Path:
    return program().binary


def build(progress: Progress) -> Path:
    """Builds the binary if it is missing. Raises Unavailable if it can't be built on this machine."""
    return go_programs.build(program(), progress)
