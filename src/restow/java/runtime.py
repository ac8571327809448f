"""Finds a Java that is new enough, for the embedded broker and for Ivy."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from restow.errors import RestowError

OLDEST_JAVA = 17
"""Kafka 4 brokers and Spark 4 both need it."""

INSTALL = "apt-get install openjdk-17-jre-headless"

VERSION = re.compile(r'version "(?:1\.)?(\d+)')
"""Java 8 reports 1.8; later versions start with their number."""


def find_java() -> Path:
    """Returns the java of JAVA_HOME if that is set, else the first on the PATH. Raises RestowError."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home, "bin"))) if home else shutil.which("java")
    if found is None:
        where = f"JAVA_HOME={home}" if home else "the PATH"
        raise RestowError(f"Java {OLDEST_JAVA} or newer is needed and there is none in {where}; install it: {INSTALL}")
    java = Path(found)
    version = _version_of(java)
    if version < OLDEST_JAVA:
        raise RestowError(f"{java} is Java {version}; {OLDEST_JAVA} or newer is needed; install it: {INSTALL}")
    return java


def _version_of(java: Path) -> int:
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    number = VERSION.search(answer.stderr)
    if answer.returncode or not number:
        raise RestowError(f"{java} doesn't report its version; Java {OLDEST_JAVA} or newer is needed: {INSTALL}")
    return int(number[1])
