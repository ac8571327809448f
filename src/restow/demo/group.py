"""The demonstration's processes: monitor, controller, page, and the consumers that the controller starts on Spark.

None of them outlives the demonstration, however it ends: the roles run below a lifeline (lifeline.py) that ends them
with us, and the consumers end when their directory is removed, which the controller's lifeline does.
"""

import json
import re
import signal
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from restow.demo.course import MOST_AT_WORK, SPARES
from restow.demo.load import CAPACITY_BYTES_PER_S, TOPICS
from restow.durable import write_atomically
from restow.errors import InvalidInput
from restow.kafka.channels.status import StatusReader
from restow.model import ConsumerId
from restow.picture.parts import Assembler, plain_picture
from restow.platform.processes.linux import send
from restow.platform.processes.logs import READABLE_FILE
from restow.platform.processes.supervisors import Supervisors
from restow.protocol.json_text import as_json
from restow.roles.background import BackgroundRoles
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
spares = {spares}                 # it reads nothing; it is warm when the load rises or a consumer crashes
most_consumers = {most}         # each has its own Spark, and all share this machine

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
        self._write_settings(bootstrap)
        self._roles = BackgroundRoles(GROUP, self.config, self.processes, GRACE_S)
        self._consumers = Supervisors(GROUP, self.processes)

    def __enter__(self) -> Self:
        try:
            self._roles.start("monitor")
            self._roles.start("controller", "--log", str(self.log), doomed=self.processes)
            if self._with_page:
                self._roles.start(PAGE, "--free-port")
        except BaseException:
            self._roles.end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._roles.end()

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
        return self._roles.output_of(role)

    def ended_role(self) -> str | None:
        """The role whose process has ended unexpectedly, or None. The group works without its page."""
        return next((role for role in self._roles.ended() if role != PAGE), None)

    def page_address(self) -> str | None:
        """None without a page, or before it serves."""
        found = re.search(r"http://\S+/", self.output_of(PAGE)) if self._with_page else None
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
            spares=SPARES,
            most=MOST_AT_WORK + SPARES,
        )
        tables = (TOPIC.format(topic=topic, table=json.dumps(str(self.table(topic)))) for topic in TOPICS)
        try:
            with self.config.open("x", encoding="utf-8") as file:
                file.write(head + "".join(tables))
        except FileExistsError:
            raise InvalidInput(f"{self.directory} has another demonstration; name a new or empty directory") from None
