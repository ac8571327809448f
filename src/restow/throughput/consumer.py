"""The contender `restow`: a consumer at its default settings, as the platform starts it, in its own process.

Nothing is left out but the controller's decisions: this module creates the consumer, waits until it is ready, and
commands it to start all partitions, over the same topics as a controller.
"""

import re
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from restow.errors import RestowError
from restow.kafka.admin import Admin
from restow.kafka.channels.controller import Addressed, ControllerChannel
from restow.kafka.topics import ensure_topics
from restow.metrics.targets import targets_directory
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.platform.interface import ConsumerFailing, CreateConsumer, Platform
from restow.platform.processes.ending import end_group
from restow.platform.processes.supervisors import Supervisors
from restow.protocol.field_types import RECOVER, StartFrom
from restow.protocol.messages.commands import StartConsumingCommand, StopConsumingCommand
from restow.protocol.messages.consumer_events import ConsumerReady, ConsumingRefused, StopConsumingEvent
from restow.settings import Settings
from restow.study.throughput import Commit
from restow.throughput.backlog import partitions_of
from restow.throughput.commits import Commits
from restow.throughput.contender import Contender, Setting
from restow.throughput.usage import on_cores

GROUP: Final = "bench"
CONSUMER: Final = ConsumerId(1)
DATA: Final = "restow-data"
START, STOP = 1, 2
"""The sequence numbers of the two commands that it gets."""
STOPPED_WITHIN_S: Final = 60.0
STEP: Final = re.compile(r'^restow_cycle_seconds_sum\{.*?step="(\w+)".*?\} (\S+)$', re.MULTILINE)

PlatformOf = Callable[[Path, Path], tuple[Settings, Platform]]
"""Reads a restow.toml, and makes the platform that runs its consumers as processes below a directory."""


@contextmanager
def running(setting: Setting, platform_of: PlatformOf) -> Iterator[Contender]:
    config, directory = setting.directory / "restow.toml", setting.directory / DATA
    config.write_text(settings_text(setting))
    settings, platform = platform_of(config, directory)
    with Admin(settings.kafka) as admin:
        ensure_topics(admin, settings.topics)
    with ControllerChannel(settings, GROUP) as channel:
        epoch = channel.take_over()
        try:
            with on_cores(setting.cores):  # its processes inherit them
                for refused in platform.take([CreateConsumer(CONSUMER, settings.consumer.settings)]):
                    raise RestowError(f"restow's consumer can't be created: {refused.reason}")
            yield RestowConsumer(setting, settings, platform, channel, epoch)
        finally:
            end_group(GROUP, directory, settings.consumer.grace_s, lambda _: None)


def settings_text(setting: Setting) -> str:
    """At defaults, except for the cores of a case."""
    tables = "".join(
        f'[consume.{topic}]\ntable = "{setting.tables[setting.case.table_of(topic)]}"\n'
        'transform = "restow.throughput.transform:delivered"\n'
        for topic in setting.case.by_topic
    )
    return (
        f'[kafka]\nbootstrap = "{setting.kafka.bootstrap}"\n[group]\nname = "{GROUP}"\n'
        f"[consumer]\ncores = {setting.case.cores}\n{tables}"
    )


class RestowConsumer:
    def __init__(
        self, setting: Setting, settings: Settings, platform: Platform, channel: ControllerChannel, epoch: int
    ) -> None:
        self.begun_s = time.time()
        self._setting, self._settings = setting, settings
        self._platform, self._channel, self._epoch = platform, channel, epoch
        self._supervisors = Supervisors(GROUP, setting.directory / DATA)
        self._commits = Commits(setting.tables)
        self._incarnation = 0
        self._has_stopped = False

    @property
    def process(self) -> int:
        """Its supervisor, which stays the same if the consumer is restarted."""
        local = self._supervisors.consumers().get(CONSUMER)
        return local.status.supervisor.pid if local and local.status else 0

    def new_commits(self) -> list[Commit]:
        self._hear(0.0)
        return self._commits.new()

    def stop(self) -> float | None:
        partitions = tuple(partitions_of(self._setting.case))
        begun_s = time.monotonic()
        self._send(StopConsumingCommand(self._epoch, STOP, self._incarnation, partitions))
        while not self._has_stopped:
            if time.monotonic() > begun_s + STOPPED_WITHIN_S:
                raise RestowError(f"restow's consumer has not stopped within {STOPPED_WITHIN_S:g} s")
            self._hear(0.02)
        return time.monotonic() - begun_s

    def _hear(self, within_s: float) -> None:
        for change in self._platform.changes():
            if isinstance(change, ConsumerFailing):
                raise RestowError(f"restow's consumer fails: {change.reason}")
        for read in self._channel.read(within_s):
            match read.message:
                case ConsumerReady(partitions=held):
                    self._incarnation = read.offset
                    if not held:
                        self._send(self._start_command())
                case ConsumingRefused(reason=reason):
                    raise RestowError(f"restow's consumer refused: {reason}")
                case StopConsumingEvent():
                    self._has_stopped = True
                case _:
                    pass

    def _send(self, command: StartConsumingCommand | StopConsumingCommand) -> None:
        self._channel.send([Addressed(CONSUMER, command)], None)

    def _start_command(self) -> StartConsumingCommand:
        """To start all partitions."""
        case = self._setting.case
        topics = SortedMapping({topic: self._settings.consume[topic] for topic in case.by_topic})
        starts: dict[TopicPartition, StartFrom] = dict.fromkeys(partitions_of(case), RECOVER)
        return StartConsumingCommand(self._epoch, START, self._incarnation, topics, SortedMapping(starts))

    def steps_s(self) -> Mapping[str, float]:
        """From its metrics."""
        with suppress(OSError, ValueError):
            [file] = targets_directory(self._settings).glob("*.json")
            [address] = re.findall(r'"targets": \["([^"]+)"\]', file.read_text())
            with urllib.request.urlopen(f"http://{address}/metrics", timeout=5.0) as answer:
                return {step: float(seconds) for step, seconds in STEP.findall(answer.read().decode())}
        return {}
