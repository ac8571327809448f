"""Class-data sharing: a JVM writes the classes that it has loaded into an archive, and later ones map it into memory
instead of loading them one by one. Spark's sessions and the embedded broker use it.

An archive fits one Java and one list of jars at their paths; the JVM ignores an archive that doesn't fit. A new
environment gets a new one, so that those of removed environments pile up: what was not used for a month is removed.
"""

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from restow.java.jars import cache_dir

KEPT_FOR_S: Final = 30 * 24 * 3600.0
"""After its last use. An archive takes up to 180 MB."""
QUIET: Final = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")
IN_PLACE: Final = ("-XX:+UnlockDiagnosticVMOptions", "-XX:ArchiveRelocationMode=0")
"""Maps an archive at the address for which it was written, if that is free. Java 17 and newer would move it to a random
one, which rewrites every pointer in it: each JVM would have its own copy of Spark's 175 MB in place of shared pages."""


def archive_for(java: Path, jars: Path, *parts: object) -> Path:
    """Where the archive for this Java and this directory of jars is, or would be. The JVM compares the size and the
    modification time of each jar: reinstalled ones need a new archive."""
    stats = ((jar.name, jar.stat()) for jar in sorted(jars.glob("*.jar")))
    listed = tuple((name, stat.st_size, int(stat.st_mtime)) for name, stat in stats)
    java = java.resolve()
    key = (str(java), java.stat().st_mtime_ns, str(jars), listed, *parts)
    return cache_dir().parent / "classes" / f"{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.jsa"


def writing(archive: Path) -> tuple[str, ...]:
    """Options of a JVM that writes the archive as it exits."""
    return (f"-XX:ArchiveClassesAtExit={archive}", *QUIET)


def using(archive: Path) -> tuple[str, ...]:
    """Options of a JVM that uses the archive, if there is one."""
    if not archive.exists():
        return ()
    with suppress(OSError):  # another user's
        os.utime(archive)
    return (f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", *IN_PLACE, *QUIET)


def remove_unused(directory: Path) -> None:
    """Removes archives that no JVM has used for a month. A JVM that still runs keeps its own until it ends."""
    for archive in directory.glob("*.jsa"):
        with suppress(OSError):  # another user's, or another process has removed it
            if time.time() - archive.stat().st_mtime > KEPT_FOR_S:
                archive.unlink()
                archive.with_suffix(".lock").unlink(missing_ok=True)
