"""A real schema registry for tests: Apicurio's, with its API that is compatible with Confluent's. `make test` provides
it before tests run:

    python -m tests.support.registry

It is fetched from Maven Central into restow's cache, by its version. If this machine can't have it (no network), the
reason is noted there, and the tests that need it are skipped with that reason. Without such a note, a missing registry
is an error.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.kubernetes.cluster import build

from restow.errors import RestowError
from restow.java.runtime import find_java
from restow.kafka.embedded.ports import LOOPBACK, choose_ports

VERSION = "3.0.9"
"""The newest one on Maven Central that runs on Java 17; 3.3 needs Java 21."""
CENTRAL = "https://repo1.maven.org/maven2"
FILE = f"io/apicurio/apicurio-registry-app/{VERSION}/apicurio-registry-app-{VERSION}-all.tar.gz"
WITHIN_S = 240.0
FETCH_WITHIN_S = 600.0
JAR = f"apicurio-registry-app-{VERSION}-runner.jar"


def home() -> Path:
    """Skips the test if this machine can't have it."""
    if (_home() / JAR).exists():
        return _home()
    if _note().exists():
        pytest.skip(f"there is no schema registry: {_note().read_text()}")
    raise RestowError("there is no schema registry; run `make registry`")


def _cache() -> Path:
    return build.cache_dir().parent


def _home() -> Path:
    return _cache() / f"apicurio-{VERSION}"


def _note() -> Path:
    return _cache() / "no-registry.txt"


def prepare() -> None:
    _cache().mkdir(parents=True, exist_ok=True)
    try:
        if not (_home() / JAR).exists():
            _fetch()
    except (OSError, tarfile.TarError) as error:
        _note().write_text(str(error))
        print(f"no schema registry here, so its tests are skipped: {error}")
    else:
        _note().unlink(missing_ok=True)


def _fetch() -> None:
    print("fetching a schema registry, 109 MB", flush=True)
    with tempfile.TemporaryDirectory(dir=_cache()) as scratch:
        archive, unpacked = Path(scratch, "app.tar.gz"), Path(scratch, "unpacked")
        url = f"{CENTRAL}/{FILE}"
        with urllib.request.urlopen(f"{url}.sha1", timeout=60) as answer:
            wanted = answer.read().decode().split()[0]
        with urllib.request.urlopen(url, timeout=FETCH_WITHIN_S) as answer, archive.open("wb") as file:
            shutil.copyfileobj(answer, file)
        found = hashlib.sha1(archive.read_bytes()).hexdigest()
        if found != wanted:
            raise OSError(f"{url} has the SHA-1 {found}; it must be {wanted}")
        with tarfile.open(archive) as content:
            content.extractall(unpacked, filter="data")
        if not _home().exists():
            unpacked.rename(_home())


class SchemaRegistry:
    """Written to through its API, as producers do."""

    def __init__(self, port: int) -> None:
        self.root = f"http://{LOOPBACK}:{port}"
        self.url = f"{self.root}/apis/ccompat/v7"

    def register(self, subject: str, schema: str, kind: str = "AVRO") -> int:
        """Returns the schema's id."""
        body = {"schema": schema} if kind == "AVRO" else {"schema": schema, "schemaType": kind}
        answer = self._post(f"/subjects/{subject}/versions", body)
        return int(answer["id"])

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/subjects", timeout=60):
                return True
        except urllib.error.HTTPError as error:
            error.close()
        except OSError:
            pass
        return False

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                raise RestowError(f"{path}: {error.read().decode()}") from None


@contextmanager
def running_registry(directory: Path) -> Iterator[SchemaRegistry]:
    """It keeps its schemas in memory."""
    program = home()
    [port] = choose_ports(1)
    output = directory / "registry.txt"
    options = {
        "quarkus.http.host": LOOPBACK,
        "quarkus.http.port": str(port),
        "quarkus.management.enabled": "false",
        "quarkus.banner.enabled": "false",
        "quarkus.log.level": "WARN",
    }
    jvm = ("-Xmx300m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
    command = [str(find_java()), *jvm, *(f"-D{name}={value}" for name, value in options.items()), "-jar", JAR]
    environment = {**os.environ, "APICURIO_STORAGE_KIND": "sql", "APICURIO_STORAGE_SQL_KIND": "h2"}
    with output.open("wb") as stream:
        process = subprocess.Popen(
            command, cwd=program, env=environment, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream
        )
    try:
        found, deadline_s = SchemaRegistry(port), time.monotonic() + WITHIN_S
        while not found.is_ready():
            assert process.poll() is None, output.read_text()
            assert time.monotonic() < deadline_s, output.read_text()
            time.sleep(0.1)
        yield found
    finally:
        process.terminate()
        process.wait(WITHIN_S)


if __name__ == "__main__":
    prepare()
    sys.exit(0)
