"""Fetches jars once, with their dependencies, into a cache. Later runs need no network.

The Ivy among PySpark's jars resolves and downloads them; it needs nothing but Java. The embedded broker uses the bundle
`KAFKA`, the Spark pipeline has its own. The environment variable RESTOW_IVY_SETTINGS can name a file with Ivy's
settings, to use a mirror for example.
"""

import importlib.util
import logging
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

from restow.durable import locked_file
from restow.errors import RestowError
from restow.java.runtime import find_java
from restow.waiting import waiting

log = logging.getLogger(__name__)


class Jar(NamedTuple):
    organisation: str
    name: str
    version: str
    alone: bool = False
    """Without its dependencies: they are there already, or the bundle names them in another version."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """Jars that are used together. The name and version are the cache's key: change one of them with the content."""

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
        # The broker logs through slf4j and has no backend for it. This one uses the broker's own log4j-core.
        Jar("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4"),
    ),
)


def cache_dir() -> Path:
    return Path(os.environ.get("RESTOW_CACHE") or Path.home() / ".cache" / "restow") / "jars"


def fetch(bundle: Bundle) -> Path:
    """Returns the directory of the bundle's jars, after fetching them if it is missing. Raises RestowError."""
    home = cache_dir() / f"{bundle.name}-{bundle.version}"
    if home.is_dir():
        return home
    home.parent.mkdir(parents=True, exist_ok=True)
    with _lock(bundle, home):
        if not home.is_dir():  # another process may have fetched it while we waited
            log.info("fetching %s once, into %s; this takes about a minute", bundle, home)
            with waiting(f"the jars of {bundle}"):
                _fetch(bundle, home)
            log.info("fetched %s", bundle)
    return home


@contextmanager
def _lock(bundle: Bundle, home: Path) -> Iterator[None]:
    with ExitStack() as held:
        with waiting(f"another process that fetches {bundle}"):
            held.enter_context(locked_file(home.with_name(f"{home.name}.lock")))
        yield


def _fetch(bundle: Bundle, home: Path) -> None:
    """Renames the complete directory to `home` at the end, so that an interrupted fetch is never taken for a whole one.
    The caller holds the lock, so that remains of interrupted fetches can be removed."""
    java, ivy = find_java(), find_ivy()
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


def find_ivy() -> Path:
    """The Ivy that PySpark ships. Raises RestowError without PySpark."""
    pyspark = importlib.util.find_spec("pyspark")  # importing it would take half a second
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
    """The most telling line of Ivy's report: the network error, else the jar that does not exist."""
    lines = [line.strip() for line in output.splitlines()]
    for mark in ("Server access error", "not found", "Exception", "download failed"):
        for line in lines:
            if mark in line:
                return f"{line.strip(': ')}; is the network reachable?"
    return next((line for line in reversed(lines) if line), "Ivy said nothing")
