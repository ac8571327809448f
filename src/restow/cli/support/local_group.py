"""A group whose monitor, controller and page run on this machine, for `restow up`: what runs of it, and how to start
it."""

import logging
import os
import shlex
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from restow.cli.support.config import DEFAULT
from restow.errors import RestowError
from restow.platform.processes.location import directory_of
from restow.platform.processes.logs import READABLE_FILE, rotate
from restow.platform.processes.roles import UP, running_roles
from restow.platform.processes.sole_up import SoleUp, UpElsewhere, end_leftovers
from restow.platform.processes.supervisors import Supervisors
from restow.roles.child import role_command
from restow.settings import Settings
from restow.text import counted, listed
from restow.waiting import waiting

log = logging.getLogger(__name__)

ROLES: Final = ("monitor", "controller")
"""Commands that take --config, in the order in which they are started. They are ended in the other."""
PAGE: Final = "page"

STARTED_WITHIN_S: Final = 60.0
LOOK_EVERY_S: Final = 0.1


class Detached(NamedTuple):
    """A `restow up` in the background."""

    process: "subprocess.Popen[bytes]"
    log_file: Path
    log_begins: int

    @property
    def pid(self) -> int:
        return self.process.pid

    def exit_code(self) -> int | None:
        return self.process.poll()

    def lines(self) -> str:
        """What it has logged."""
        with self.log_file.open("rb") as log_file:
            log_file.seek(self.log_begins)
            return log_file.read().decode("utf-8", "replace")


class LocalGroup:
    def __init__(self, settings: Settings, config: Path) -> None:
        self.roles = (*ROLES, PAGE) if settings.page.enabled else ROLES
        self.settings, self._config = settings, config
        self.name, self.directory = settings.group.name, directory_of(settings)
        self.log_file = self.directory / f"{self.name}-up" / "up.log"
        self.commands = {role: role_command(role, config) for role in self.roles}
        if settings.page.enabled:  # the group must not stay down because another group's page has the port
            self.commands[PAGE].append("--free-port")

    def named(self, command: str) -> str:
        """The command for this group, as a person would type it here."""
        words = ["restow", command] if self._config == DEFAULT else ["restow", command, "--config", str(self._config)]
        return shlex.join(words)

    def alone(self, ending: ExitStack) -> SoleUp:
        """Makes sure that this process alone runs the roles, until `ending`: ends what a killed `restow up` left.
        Raises RestowError if the group is up already."""
        try:
            sole = ending.enter_context(SoleUp(self.name, self.directory))
        except UpElsewhere as other:
            raise RestowError(
                f"group {self.name} is up already: process {other.pid} runs its {listed(self.roles)}. "
                f"`{self.named('status')}` shows it; `{self.named('down')}` ends it, with its consumers"
            ) from None
        if leftovers := sole.leftovers():
            with waiting("the roles of an earlier `restow up` to end"):
                end_leftovers(leftovers, self.settings.consumer.grace_s)
        others = [role for role in running_roles(self.name, self.directory) if role.name in ROLES]
        if others:
            pids = " ".join(str(role.process.pid) for role in others)
            raise RestowError(
                f"group {self.name} has a {listed(others, 'process')} here already, started without `restow up`; end "
                f"it first: `kill {pids}`, or `{self.named('down')}`, which ends the consumers too"
            )
        return sole

    def start_detached(self) -> Detached:
        """Returns when its roles run, or when it has ended."""
        try:
            self.log_file.parent.mkdir(parents=True, exist_ok=True)
            output = os.open(self.log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, READABLE_FILE)
        except OSError as error:
            raise RestowError(
                f"{self.log_file} can't be written: {error.strerror}; correct the rights, or [processes] directory"
            ) from None
        try:
            begins = os.fstat(output).st_size
            command = role_command("up", self._config, "--detached")
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
        finally:
            os.close(output)
        started = Detached(process, self.log_file, begins)
        with waiting("the roles to start"):
            self._wait_until_up(started)
        return started

    def _wait_until_up(self, started: Detached) -> None:
        """At most STARTED_WITHIN_S: on a full disk roles run without a record."""
        awaited = {UP, *(self.roles if self.settings.group.platform == "processes" else ())}
        deadline_s = time.monotonic() + STARTED_WITHIN_S
        while started.exit_code() is None and time.monotonic() < deadline_s:
            if awaited <= {role.name for role in running_roles(self.name, self.directory)}:
                return
            time.sleep(LOOK_EVERY_S)

    def rotate_log(self) -> None:
        try:
            rotate(self.log_file)
        except OSError as error:  # a full disk, of which the log can't tell either
            log.debug("%s can't be rotated: %s", self.log_file, error)

    def what_goes_on(self) -> str:
        """What runs after monitor and controller have ended, and what to do with it."""
        if self.settings.group.platform == "kubernetes":
            return "consumers are pods, and go on reading what they have until a controller runs again"
        consumers = len(Supervisors(self.name, self.directory).consumers())
        if not consumers:
            return "no consumer runs"
        goes, them = ("goes", "it") if consumers == 1 else ("go", "them")
        return (
            f"{counted(consumers, 'consumer')} {goes} on reading without a controller: `{self.named('down')}` ends "
            f"{them}, `{self.named('up')}` continues with {them}"
        )
