"""A real schema registry for tests: Apicurio's, with its API that is compatible with Confluent's. `make test` provides
it before tests run:

    python -m tests.support.registry

It is fetched from Maven Central into restow's cache, by its version. If this machine can't have it (no network), the
reason is noted there, and the tests that need it are skipped with that reason. Without such a note, a missing registry
is an error.
"""

import json
import os
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
from tests.support.go_programs import cache_dir

from restow.errors import RestowError
from restow.java.jars import find_ivy
from restow.java.runtime import find_java
from restow.kafka.embedded.ports import LOOPBACK, choose_ports

VERSION = "3.0.9"
"""The newest one on Maven Central that runs on Java 17; 3.3 needs Java 21."""
SETTINGS = """<ivysettings><settings defaultResolver="central"/><resolvers>
<ibiblio name="central" m2compatible="true" usepoms="false"/></resolvers></ivysettings>"""
"""Ivy's own Maven Central, without POMs: nothing else is needed, and a mirror may lack the parent of this one."""
MODULE = f"""<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
<info organisation="restow" module="registry"/><configurations><conf name="default"/></configurations><dependencies>
<dependency org="io.apicurio" name="apicurio-registry-app" rev="{VERSION}" conf="default->default" transitive="false">
<artifact name="apicurio-registry-app" type="tar.gz" ext="tar.gz" m:classifier="all"/></dependency></dependencies>
</ivy-module>"""
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
    return cache_dir()


def _home() -> Path:
    return _cache() / f"apicurio-{VERSION}"


def _note() -> Path:
    return _cache() / "no-registry.txt"


def prepare() -> None:
    _cache().mkdir(parents=True, exist_ok=True)
    try:
        if not (_home() / JAR).exists():
            _fetch()
    except (OSError, subprocess.TimeoutExpired, tarfile.TarError) as error:
        _note().write_text(str(error))
        print(f"no schema registry here, so its tests are skipped: {error}")
    else:
        _note().unlink(missing_ok=True)


def _fetch() -> None:
    """By Ivy, which compares the checksum."""
    print("fetching a schema registry, 109 MB", flush=True)
    with tempfile.TemporaryDirectory(dir=_cache()) as scratch:
        module, settings, archives = Path(scratch, "ivy.xml"), Path(scratch, "settings.xml"), Path(scratch, "archives")
        module.write_text(MODULE)
        settings.write_text(SETTINGS)
        ivy = (str(find_java()), "-jar", str(find_ivy()), "-warn", "-settings", str(settings), "-ivy", str(module))
        where = ("-cache", f"{scratch}/cache", "-retrieve", f"{archives}/[artifact].[ext]")
        command = (*ivy, "-confs", "default", "-types", "tar.gz", *where)
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=FETCH_WITHIN_S)
        found = list(archives.glob("*.tar.gz"))
        if answer.returncode or not found:
            raise OSError(f"Apicurio {VERSION} can't be fetched: {answer.stdout[-500:]}")
        unpacked = Path(scratch, "unpacked")
        with tarfile.open(found[0]) as content:
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
