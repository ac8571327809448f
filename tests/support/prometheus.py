"""A real Prometheus for tests. `make test` provides it before tests run:

    python -m tests.support.prometheus

Debian's package is downloaded and unpacked into restow's cache, and not installed: so no service of it ever starts. If
this machine can't have it (no apt, no network), the reason is noted there, and the tests that need it are skipped with
that reason. Without such a note, a missing program is an error.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from tests.support.go_programs import Unavailable, cache_dir

from restow.errors import RestowError
from restow.kafka.embedded.ports import LOOPBACK, choose_ports

PACKAGE = "prometheus"
WITHIN_S = 120.0


class Programs(NamedTuple):
    prometheus: str
    promtool: str


def programs() -> Programs:
    """Skips the test if this machine can't have them."""
    found = _found()
    if found is not None:
        return found
    if _note().exists():
        pytest.skip(f"there is no Prometheus: {_note().read_text()}")
    raise RestowError("there is no Prometheus; run `make prometheus`")


def _found() -> Programs | None:
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), str(_home() / "usr" / "bin")])
    found = [shutil.which(name, path=path) for name in Programs._fields]
    return Programs(*(str(each) for each in found)) if all(found) else None


def _cache() -> Path:
    return cache_dir()


def _home() -> Path:
    return _cache() / PACKAGE


def _note() -> Path:
    return _cache() / f"no-{PACKAGE}.txt"


def prepare() -> None:
    _cache().mkdir(parents=True, exist_ok=True)
    try:
        if _found() is None:
            _unpack()
    except Unavailable as unavailable:
        _note().write_text(str(unavailable))
        print(f"no Prometheus here, so its tests are skipped: {unavailable}")
    else:
        _note().unlink(missing_ok=True)


def _unpack() -> None:
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise Unavailable("this is not Debian; install prometheus and promtool")
    print("fetching Prometheus", flush=True)
    with tempfile.TemporaryDirectory(dir=_cache()) as scratch:
        if _run("apt-get", "download", "-qq", PACKAGE, cwd=scratch).returncode:
            if os.geteuid() == 0:
                _run("apt-get", "update", "-qq")
            answer = _run("apt-get", "download", "-qq", PACKAGE, cwd=scratch)
            if answer.returncode:
                raise Unavailable(f"the Debian package can't be downloaded: {answer.stderr.strip()}")
        [file] = Path(scratch).glob("*.deb")
        target = Path(scratch, "unpacked")
        answer = _run("dpkg-deb", "--extract", str(file), str(target))
        if answer.returncode:
            raise RestowError(f"{file.name} can't be unpacked: {answer.stderr.strip()}")
        if not _home().exists():
            target.rename(_home())


def _run(*command: str, cwd: str | None = None) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


class Prometheus:
    """Asked through its HTTP API."""

    def __init__(self, port: int) -> None:
        self._root = f"http://{LOOPBACK}:{port}"

    def query(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """Labels and value of each series, now. Fails if the expression can't be evaluated."""
        answer = self._get("/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
        assert answer["status"] == "success", f"{expression}: {answer}"
        return [(each["metric"], float(each["value"][1])) for each in answer["data"]["result"]]

    def rules(self) -> list[dict[str, Any]]:
        groups = self._get("/api/v1/rules")["data"]["groups"]
        return [rule for group in groups for rule in group["rules"]]

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self._root}/-/ready", timeout=60):
                return True
        except OSError:
            return False

    def _get(self, path: str) -> Any:
        try:
            with urllib.request.urlopen(self._root + path, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:  # a bad expression, with the reason in the answer
            return json.load(error)


@contextmanager
def prometheus(directory: Path, settings: Mapping[str, Any]) -> Iterator[Prometheus]:
    """`settings` are those of prometheus.yml."""
    program, _ = programs()
    [port] = choose_ports(1)
    config, output = directory / "prometheus.yml", directory / "prometheus.txt"
    config.write_text(yaml.safe_dump(dict(settings)))
    with output.open("wb") as stream:
        process = subprocess.Popen(
            [
                program,
                f"--config.file={config}",
                f"--storage.tsdb.path={directory / 'tsdb'}",
                f"--web.listen-address={LOOPBACK}:{port}",
            ],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
        )
    try:
        found, deadline_s = Prometheus(port), time.monotonic() + WITHIN_S
        while not found.is_ready():
            assert process.poll() is None, output.read_text()
            assert time.monotonic() < deadline_s, output.read_text()
            time.sleep(0.05)
        yield found
    finally:
        process.terminate()
        process.wait(WITHIN_S)


if __name__ == "__main__":
    prepare()
    sys.exit(0)
