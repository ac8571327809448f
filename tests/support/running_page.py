"""`restow page` as a process, and a client of it."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ANSWER_WITHIN_S = 120.0


class RunningPage:
    def __init__(self, config: Path, *options: str) -> None:
        command = [sys.executable, "-m", "restow", "page", "--config", str(config), "--port", "0", *options]
        self.log = config.with_name("page.log")
        with self.log.open("w") as output:
            self.process = subprocess.Popen(command, stderr=output)
        while " the page of group " not in self.log.read_text():
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.05)
        self.line = next(line for line in self.log.read_text().splitlines() if " the page of group " in line)
        self.address = next(word for word in self.line.split() if word.startswith("http://"))
        self.netloc = urlsplit(self.address).netloc

    @property
    def token_file(self) -> Path:
        return Path(self.line.rstrip().rstrip(")").rpartition(" ")[2])

    @property
    def token(self) -> str:
        return self.token_file.read_text().strip()

    def end(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(ANSWER_WITHIN_S)

    def ask(
        self, path: str, headers: Mapping[str, str] | None = None, method: str = "GET", body: str | None = None
    ) -> tuple[int, Any]:
        """Status and JSON."""
        with closing(HTTPConnection(self.netloc, timeout=ANSWER_WITHIN_S)) as connection:
            connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            content = answer.read()
            return answer.status, json.loads(content) if content else None

    def get(self, path: str) -> Any:
        status, answer = self.ask(path)
        assert status == 200, answer
        return answer

    def act(self, action: str, body: object, **headers: str) -> tuple[int, Any]:
        """An action as the page itself sends it, unless `headers` say otherwise."""
        own = {
            "Authorization": f"Bearer {self.token}",
            "Origin": self.address.rstrip("/"),
            "Content-Type": "application/json",
        }
        return self.ask(f"/api/actions/{action}", {**own, **headers}, "POST", json.dumps(body))

    @contextmanager
    def events(self) -> Iterator[Iterator[tuple[str, Any]]]:
        """Names and data of the events, as they come."""
        with closing(HTTPConnection(self.netloc, timeout=ANSWER_WITHIN_S)) as connection:
            connection.request("GET", "/api/events")
            answer = connection.getresponse()
            assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
            yield _events(answer)


def _events(lines: Iterator[bytes]) -> Iterator[tuple[str, Any]]:
    name = ""
    for line in lines:
        field, _, value = line.decode().rstrip("\n").partition(": ")
        if field == "event":
            name = value
        elif field == "data":
            yield name, json.loads(value)


@contextmanager
def running_page(config: Path, *options: str) -> Iterator[RunningPage]:
    page = RunningPage(config, *options)
    try:
        yield page
    finally:
        assert page.end() == 0
