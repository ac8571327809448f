"""Watches any consumer group for a while, with the monitor's sampler and meter. Changes nothing in the cluster."""

import time
from collections.abc import Callable, Sequence
from typing import Final

from restow.advice.facts import GroupFacts
from restow.advice.similar import similar
from restow.advice.watching import Watching
from restow.cli.support.output import note, progress
from restow.errors import InvalidInput, RestowError
from restow.kafka.admin import Admin
from restow.kafka.groups import Groups
from restow.kafka.sampler import Interest, Sampler
from restow.model import TopicPartition
from restow.monitor.group_look import GroupLook
from restow.monitor.meter import Meter
from restow.settings import Kafka
from restow.text import listed

SAMPLE_EVERY_S: Final = 1.0
"""As the monitor samples."""
LOOK_EVERY_S: Final = 5.0
"""Looks at members and offsets. Clients commit every 5 s by default, so that more would show nothing new."""


def watched(kafka: Kafka, group: str, topics: Sequence[str], seconds: float) -> GroupFacts:
    """Raises InvalidInput if there is no such group, and RestowError if nothing can be measured."""
    groups = Groups(kafka)
    with Admin(kafka) as admin:
        _check_exists(groups, group, kafka.bootstrap)
        first = groups.look(group, admin)
        consumed = tuple(sorted({*topics, *(partition.topic for partition in first.ends)}))
        if not consumed:
            raise RestowError(
                f"the group {group} has neither partitions nor committed offsets, so that nothing says what it reads; "
                "name its topics with --topics"
            )
        _check_topics(admin, consumed, kafka.bootstrap)
        return _Watch(group, groups, admin, consumed).run(seconds)


def _check_exists(groups: Groups, group: str, bootstrap: str) -> None:
    if groups.describe(group) is not None:
        return
    names = groups.names()
    there_is = f"there is no consumer group {group} on {bootstrap}"
    if close := similar(group, names):
        raise InvalidInput(f"{there_is}; did you mean {', '.join(close)}?")
    if not names:
        raise InvalidInput(f"{there_is}; no group can be seen there")
    raise InvalidInput(f"{there_is}; there {'is' if len(names) == 1 else 'are'} {listed(names, 'other group')}")


def _check_topics(admin: Admin, topics: Sequence[str], bootstrap: str) -> None:
    known = admin.cluster().leaders
    if missing := [topic for topic in topics if topic not in known]:
        raise RestowError(
            f"can't measure {listed(missing, 'topic')} on {bootstrap}: there is no such topic, or the right Describe "
            "on it is missing"
        )


class _Watch:
    def __init__(self, group: str, groups: Groups, admin: Admin, topics: Sequence[str]) -> None:
        self._group, self._groups, self._admin = group, groups, admin
        self._sampler, self._meter = Sampler(admin, Interest(topics)), Meter()
        self._watching = Watching(group)
        self._partitions: tuple[TopicPartition, ...] = ()

    def run(self, seconds: float) -> GroupFacts:
        note(f"watching {self._group} for {seconds:g} s; nothing is changed, and Ctrl-C ends the watch early")
        with progress(f"watching {self._group}", max(1, round(seconds))) as advance:
            try:
                self._watch(seconds, advance)
            except KeyboardInterrupt:
                if not self._watching.is_enough:
                    raise
        return self._watching.facts()

    def _watch(self, seconds: float, advance: Callable[[], None]) -> None:
        """At least two looks and a reading, however short the watch."""
        begun_s = time.monotonic()
        look_due_s, shown_s = begun_s, 0
        while True:
            sampled_s = time.monotonic()
            self._sample()
            is_last = sampled_s - begun_s >= seconds and self._has_reading
            if sampled_s >= look_due_s or is_last:
                self._watching.add_look(self._look())
                look_due_s = sampled_s + LOOK_EVERY_S
            while shown_s < min(seconds, time.monotonic() - begun_s) - 1:
                shown_s += 1
                advance()
            if is_last and self._watching.is_enough:
                return
            time.sleep(max(0.0, sampled_s + SAMPLE_EVERY_S - time.monotonic()))

    @property
    def _has_reading(self) -> bool:
        return bool(self._partitions)

    def _sample(self) -> None:
        reading = self._meter.take(self._sampler.sample())
        if reading is not None:
            self._partitions = reading.partitions
            self._watching.add_reading(reading)

    def _look(self) -> GroupLook:
        return self._groups.look(self._group, self._admin, self._partitions)
