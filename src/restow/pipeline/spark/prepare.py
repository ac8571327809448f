"""What Spark needs once on a machine: the jars of its Kafka connector, and the class archive for faster starts.

`make` and the image's build prepare both (build_archive.py). Without make, as after `pip install`, the first command
that starts Spark calls `prepare_spark`: check, consume, demo, or a controller before it starts local consumers.
Consumers themselves don't: their controller waits for them.
"""

import logging
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from restow.durable import locked_file
from restow.errors import RestowError
from restow.java.class_data import remove_unused
from restow.java.jars import KAFKA, fetch
from restow.pipeline.spark.class_archive import DUMP, archive_path
from restow.pipeline.spark.jars import CONNECTOR
from restow.waiting import waiting

log = logging.getLogger(__name__)

MODULE: Final = "restow.pipeline.spark.build_archive"
BUILT_WITHIN_S: Final = 600.0
TRY_AGAIN_AFTER_S: Final = 24 * 3600.0
"""After a failure. The archive is a convenience: a Java that can't write one must not cost a minute at each start."""


def prepare_spark() -> None:
    """Raises RestowError if the jars can't be fetched. Without the archive Spark only starts more slowly."""
    fetch(CONNECTOR)
    archive = archive_path()
    if archive.exists() or _has_failed_lately(archive):
        return
    try:
        build_archive()
    except (RestowError, OSError) as error:
        log.warning("%s; Spark works without the archive, but starts more slowly", error)


def build_archive() -> None:
    """Does nothing if the archive exists. Raises RestowError, or OSError if its directory can't be written."""
    archive = archive_path()
    archive.parent.mkdir(parents=True, exist_ok=True)
    with locked_file(archive.with_suffix(".lock")):
        if not archive.exists():
            fetch(KAFKA)  # by this process, whose log is shown
            log.info("archiving Spark's classes once, in %s, for faster starts; this takes about a minute", archive)
            with waiting("the archive of Spark's classes"):
                _build(archive)


def _build(archive: Path) -> None:
    draft = archive.with_suffix(".draft")
    # -P: a module in the working directory must not take the place of one of Python's.
    command, environment = (sys.executable, "-P", "-m", MODULE), {**os.environ, DUMP: str(draft)}
    try:
        subprocess.run(command, env=environment, check=True, timeout=BUILT_WITHIN_S, capture_output=True, text=True)
        draft.rename(archive)
        remove_unused(archive.parent)
    except subprocess.CalledProcessError as error:
        if error.returncode > 0:  # else a signal interrupted it, and the next start may try again at once
            _failure_of(archive).touch()
        raise RestowError(f"Spark's classes can't be archived: {error.stderr.strip()[-300:]}") from None
    except (subprocess.TimeoutExpired, OSError) as error:
        _failure_of(archive).touch()
        raise RestowError(f"Spark's classes can't be archived: {error}") from None
    finally:
        draft.unlink(missing_ok=True)


def _failure_of(archive: Path) -> Path:
    """The time of the last failure is this file's modification time."""
    return archive.with_suffix(".failed")


def _has_failed_lately(archive: Path) -> bool:
    failure = _failure_of(archive)
    return failure.exists() and time.time() - failure.stat().st_mtime < TRY_AGAIN_AFTER_S
