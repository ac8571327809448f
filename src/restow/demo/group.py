"""The demonstration's processes: monitor, controller, page, and the consumers that the controller starts on Spark.

None of them outlives the demonstration, however it ends: the roles run below a lifeline (lifeline.py) that ends them
with us, and the consumers end when their directory is removed, which the controller's lifeline does.
"""

import json
import os
import re
import signal
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from restow.demo.load import CAPACITY_BYTES_PER_S, TOPICS
from restow.durable import write_atomically
from restow.errors import InvalidInput
from restow.kafka.channels.status import StatusReader
from restow.model import ConsumerId
from restow.picture.parts import Assembler, plain_picture
from restow.platform.processes.ending import end_group
from restow.platform.processes.linux import send
from restow.platform.processes.logs import READABLE_FILE
from restow.platform.processes.supervisors import Supervisors
from restow.protocol.json_text import as_json
from restow.roles.child import kill_role, role_command, start_role
from restow.settings import read_settings

GROUP: Final = "data-engineering"
PAGE: Final = "page"
PICTURE: Final = "picture.json"
GRACE_S: Final = 20.0
SETTINGS: Final = """\
[kafka]
bootstrap = {bootstrap}

[group]
name = "{group}"

[processes]
directory = {directory}

[consumer]
capacity_bytes_per_s = {capacity}
memory_mb = 700
cores = 1.0
report_every_s = 2.0
grace_s = {grace_s}

[controller]
look_every_s = 10.0        # a run of some minutes can't wait a minute for each one
close_after_s = 10.0       # nor five minutes for each consumer that is closed
cool_down_after_opening_s = 10.0
cool_down_after_closing_s = 5.0
most_consumers = 4         # each has its own Spark, and all share this machine

[spark]
"spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1"   # starts in half the time; small cycles are as fast

[table]
log_kept_s = 864000.0      # the audit reads commit times from the log
removed_files_kept_s = 864000.0
"""
TOPIC: Final = """
[consume.{topic}]
table = {table}
transform = "restow.demo.shop:{topic}"
"""


class DemoGroup:
    def __init__(self, directory: Path, bootstrap: str, *, with_page: bool) -> None:
        self.directory, self._with_page = directory, with_page
        self.processes = directory / "processes"
        self.config = directory / "restow.toml"
        self.log = directory / "events"
        self._roles: dict[str, subprocess.Popen[bytes]] = {}
        self._lifeline: tuple[int, int] | None = None
        self._write_settings(bootstrap)
        self._consumers = Supervisors(GROUP, self.processes)

    def __enter__(self) -> Self:
        self._lifeline = os.pipe()
        try:
            self._start("monitor")
            self._start("controller", "--log", str(self.log), doomed=self.processes)
            if self._with_page:
                self._start(PAGE, "--free-port")
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def keep_picture(self) -> None:
        """Keeps the group's newest picture in the directory, as `restow status --from` reads it. Raises RestowError."""
        settings = read_settings(self.config.read_text(encoding="utf-8"), str(self.config), {})
        with StatusReader(settings, Assembler) as reader:
            picture = reader.newest()
        if picture is not None:
            plain = {"age_s": 0.0, "outage": False, **plain_picture(picture)}
            write_atomically(self.directory / PICTURE, as_json(plain), READABLE_FILE)

    def table(self, topic: str) -> Path:
        return self.directory / "lake" / topic

    def output_of(self, role: str) -> str:
        return (self.directory / f"{role}.txt").read_text(encoding="utf-8", errors="replace")

    def ended_role(self) -> str | None:
        """The role whose process has ended unexpectedly, or None. The group works without its page."""
        needed = {name: process for name, process in self._roles.items() if name != PAGE}
        return next((name for name, process in needed.items() if process.poll() is not None), None)

    def page_address(self) -> str | None:
        """None without a page, or before it serves."""
        found = re.search(r"http://\S+/", self.output_of(PAGE)) if PAGE in self._roles else None
        return None if found is None else found[0]

    def consumers(self) -> tuple[ConsumerId, ...]:
        """Consumers that exist and aren't being deleted, ready or not."""
        return tuple(consumer for consumer, local in self._consumers.consumers().items() if local.wanted)

    def kill(self, consumer: ConsumerId) -> bool:
        """Sends SIGKILL. Returns False if the consumer has no process at the moment."""
        local = self._consumers.consumers().get(consumer)
        if local is None or local.child is None:
            return False
        send(local.child, signal.SIGKILL)
        return True

    def _write_settings(self, bootstrap: str) -> None:
        head = SETTINGS.format(
            bootstrap=json.dumps(bootstrap),
            group=GROUP,
            directory=json.dumps(str(self.processes)),
            capacity=CAPACITY_BYTES_PER_S,
            grace_s=GRACE_S,
        )
        tables = (TOPIC.format(topic=topic, table=json.dumps(str(self.table(topic)))) for topic in TOPICS)
        try:
            with self.config.open("x", encoding="utf-8") as file:
                file.write(head + "".join(tables))
        except FileExistsError:
            raise InvalidInput(f"{self.directory} has another demonstration; name a new or empty directory") from None

    def _start(self, role: str, *arguments: str, doomed: Path | None = None) -> None:
        assert self._lifeline is not None
        command = role_command(role, self.config, *arguments)
        with (self.directory / f"{role}.txt").open("wb") as output:
            self._roles[role] = start_role(command, self._lifeline[0], output, doomed)

    def _end(self) -> None:
        """Ends the controller first, because it could start consumers, and then the consumers."""
        for role in self._roles.values():
            role.terminate()
        for role in self._roles.values():
            try:
                role.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                kill_role(role)
                role.wait(GRACE_S)
        end_group(GROUP, self.processes, GRACE_S, lambda _: None)
        for end in self._lifeline or ():
            os.close(end)
        self._lifeline = None
