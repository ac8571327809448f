"""A real S3 server for tests: versitygw, on loopback, with conditional puts. `make test` provides it before tests run:

    python -m tests.support.s3.store

It is built once from the Go module proxy, into restow's cache, by its version. If this machine can't have it (no
network), the reason is noted there, and the tests that need it are skipped with that reason. Without such a note, a
missing server is an error.

Its objects are plain files, so that a test can look at a table as if it were on a disk, whatever the store answers.
"""

import http.client
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support import door, go_programs
from tests.support.go_programs import GoProgram, Unavailable, cache_dir

from restow.errors import RestowError
from restow.kafka.embedded.ports import LOOPBACK, choose_ports

PACKAGE = "github.com/versity/versitygw/cmd/versitygw"
SOURCES = Path(__file__).with_name("versitygw")
ACCESS, SECRET, REGION = "restow-tests", "not-a-secret-of-anyone", "us-east-1"
WITHIN_S = 60.0

SLOW_DOWN = b"""<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"""
"""What S3 answers with 503 when it throttles."""


def program() -> GoProgram:
    return GoProgram(
        words="an S3 server",
        file="versitygw",
        home=cache_dir(),
        sources=SOURCES,
        flags=("-trimpath", "-ldflags=-s -w"),
        module="github.com/versity/versitygw",
        oldest_go=(1, 25),
        package=PACKAGE,
        needs="two minutes and, meanwhile, 2 GB of disk",
    )


def _note() -> Path:
    return cache_dir() / "no-s3.txt"


def binary() -> Path:
    """Skips the test if this machine can't have it."""
    if (found := program().binary).exists():
        return found
    if _note().exists():
        pytest.skip(f"there is no S3 server: {_note().read_text()}")
    raise RestowError("there is no S3 server; run `make s3`")


def prepare() -> None:
    cache_dir().mkdir(parents=True, exist_ok=True)
    try:
        go_programs.build(program(), lambda line: print(line, flush=True))
    except Unavailable as unavailable:
        _note().write_text(str(unavailable))
        print(f"no S3 server here, so its tests are skipped: {unavailable}")
    else:
        _note().unlink(missing_ok=True)


class ObjectStore:
    def __init__(self, port: int, root: Path, metadata: Path) -> None:
        self.port, self._root, self._metadata = port, root, metadata

    def bucket(self) -> str:
        """A new one: what restow knows of a store, it knows of a bucket."""
        name = f"lake-{uuid.uuid4().hex[:12]}"
        (self._root / name).mkdir()
        return name

    def path(self, uri: str) -> Path:
        """Where the server has the objects of this URI."""
        return self._root / uri.removeprefix("s3://")

    def forget(self, uri: str) -> None:
        """Removes an object behind the server's back."""
        self.path(uri).unlink()
        shutil.rmtree(self._metadata / uri.removeprefix("s3://"))


def environment(port: int) -> dict[str, str]:
    """What a process needs that uses the store, or the door in front of it, on this port."""
    return {
        "AWS_ENDPOINT_URL": f"http://{LOOPBACK}:{port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": REGION,
        "AWS_ACCESS_KEY_ID": ACCESS,
        "AWS_SECRET_ACCESS_KEY": SECRET,
    }


@contextmanager
def running_store(directory: Path) -> Iterator[ObjectStore]:
    server, root, metadata = binary(), directory / "objects", directory / "metadata"
    root.mkdir()
    metadata.mkdir()
    [port] = choose_ports(1)
    output = directory / "server.txt"
    own = {"ROOT_ACCESS_KEY": ACCESS, "ROOT_SECRET_KEY": SECRET}
    command = [str(server), "--quiet", "--region", REGION, "--port", f"{LOOPBACK}:{port}", "--keep-alive"]
    with output.open("wb") as stream:
        process = subprocess.Popen(
            [*command, "posix", "--sidecar", str(metadata), str(root)],
            env={**os.environ, **own},
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
        )
    try:
        deadline_s = time.monotonic() + WITHIN_S
        while not _answers(port):
            assert process.poll() is None, output.read_text()
            assert time.monotonic() < deadline_s, output.read_text()
            time.sleep(0.02)
        yield ObjectStore(port, root, metadata)
    finally:
        process.terminate()
        process.wait(WITHIN_S)


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=WITHIN_S)
    try:
        connection.request("GET", "/")
        connection.getresponse().read()
    except OSError:
        return False
    finally:
        connection.close()
    return True


class StoreDoor(door.Door):
    """In front of the store: throttles, times out and loses answers."""

    def __init__(self, store: ObjectStore) -> None:
        super().__init__()
        self.port = 0
        self.refused: list[str] = []
        """The paths of what the store refused to create, because it exists."""
        self._store = store

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(LOOPBACK, self._store.port, timeout=WITHIN_S)

    def throttle(self, times: int, matches: Callable[[door.Request], bool] = lambda _: True) -> door.Fault:
        fault = door.Fault(matches, times, code=503, content=SLOW_DOWN, headers={"Content-Type": "application/xml"})
        self.faults.append(fault)
        return fault


class StoreHandler(door.Handler):
    def respond(self, request: Any, answer: http.client.HTTPResponse, fault: Any) -> None:
        if answer.status == http.HTTPStatus.PRECONDITION_FAILED:
            self.door.refused.append(request.path)
        super().respond(request, answer, fault)


def is_commit(request: door.Request) -> bool:
    return request.method == "PUT" and "/_delta_log/" in request.path and request.path.endswith(".json")


@contextmanager
def opened(store: ObjectStore) -> Iterator[StoreDoor]:
    found = StoreDoor(store)
    with door.served(found, StoreHandler) as found.port:
        yield found


if __name__ == "__main__":
    prepare()
    sys.exit(0)
