"""Fetches jars once, with what they depend on, into a cache; afterwards no network is needed.

The Ivy among PySpark's jars does the work with nothing but Java. The embedded broker asks for `KAFKA`; a pipeline may
ask for bundles of its own. Ivy's own settings (a mirror, say) can be given as a file in RESTOW_IVY_SETTINGS.
"""

import fcntl
import importlib.util
import logging
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

from restow.errors import RestowError
from restow.java.runtime import find_java

log = logging.getLogger(__name__)

Say = Callable[[str], None]


class Jar(NamedTuple):
    organisation: str
    name: str
    version: str
    alone: bool = False
    """Without what it depends on: that is there already, or is named beside it in another version."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """Jars that are used together. A different content needs a different name or version: that is the cache's key."""

    name: str
    version: str
    jars: tuple[Jar, ...]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


KAFKA = Bundle(
    name="kafka",
    version="4.3.1",
    jars=(
        Jar("org.apache.kafka", "kafka_2.13", "4.3.1"),
        # The broker logs through slf4j and brings no backend. This is the one for the log4j-core that it does bring.
        Jar("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4"),
    ),
)


def cache_dir() -> Path:
    return Path(os.environ.get("RESTOW_CACHE") or Path.home() / ".cache" / "restow") / "jars"


def fetch(bundle: Bundle, say: Say = log.info) -> Path:
    """The directory that holds the bundle's jars; fetched when it is not there. `say` is told when that takes time."""
    home = cache_dir() / f"{bundle.name}-{bundle.version}"
    if home.is_dir():
        return home
    home.parent.mkdir(parents=True, exist_ok=True)
    with _locked(home.with_name(f"{home.name}.lock")):
        if not home.is_dir():  # somebody else may have fetched it while we waited
            say(f"fetching {bundle} once, into {home}; this takes about a minute")
            _fetch(bundle, home)
            say(f"fetched {bundle}")
    return home


def _fetch(bundle: Bundle, home: Path) -> None:
    """The jars come to stand in `home` in one step, so that an interrupted fetch is never taken for a whole one. The
    caller holds the lock: what others left behind is nobody's."""
    java, ivy = find_java(), _ivy()
    for interrupted in home.parent.glob(f".{home.name}-*"):
        shutil.rmtree(interrupted)
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=f".{home.name}-") as scratch:
        descriptor, jars = Path(scratch, "ivy.xml"), Path(scratch, "jars")
        descriptor.write_text(_descriptor(bundle))
        what = ("-ivy", descriptor, "-confs", "default", "-types", "jar", "bundle")
        where = ("-cache", Path(scratch, "cache"), "-retrieve", jars / "[artifact]-[revision](-[classifier]).[ext]")
        command: tuple[str | Path, ...] = (java, "-jar", ivy, "-warn", *_settings(), *what, *where)
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode or not any(jars.glob("*.jar")):
            raise RestowError(f"{bundle} can't be fetched: {_reason(answer.stdout + answer.stderr)}")
        jars.rename(home)


def _settings() -> tuple[str, ...]:
    settings = os.environ.get("RESTOW_IVY_SETTINGS")
    return ("-settings", settings) if settings else ()


def _ivy() -> Path:
    pyspark = importlib.util.find_spec(
        "pyspark"
    )  # found, not imported: importing takes half a second and is not needed
    if pyspark is None or pyspark.origin is None:
        raise RestowError(
            "pyspark is not installed, and its Ivy is needed to fetch jars; install it: pip install pyspark"
        )
    [ivy] = Path(pyspark.origin).parent.glob("jars/ivy-*.jar")
    return ivy


def _descriptor(bundle: Bundle) -> str:
    dependencies = "".join(
        f"<dependency org={quoteattr(jar.organisation)} name={quoteattr(jar.name)} rev={quoteattr(jar.version)}"
        f' conf="default->default" transitive="{str(not jar.alone).lower()}"/>'
        for jar in bundle.jars
    )
    return (
        f'<ivy-module version="2.0"><info organisation="restow" module={quoteattr(bundle.name)}/>'
        '<configurations><conf name="default"/></configurations>'
        f"<dependencies>{dependencies}</dependencies></ivy-module>"
    )


def _reason(output: str) -> str:
    """The line of Ivy's report that says most: the network's trouble, else the jar that does not exist."""
    lines = [line.strip() for line in output.splitlines()]
    for mark in ("Server access error", "not found", "Exception", "download failed"):
        for line in lines:
            if mark in line:
                return f"{line.strip(': ')}; is the network reachable?"
    return next((line for line in reversed(lines) if line), "Ivy said nothing")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One process at a time; the others wait."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
