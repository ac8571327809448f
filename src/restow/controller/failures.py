"""Flags the topics that consumers hold but can't store: a transform fails on a record, or a table can't be written.

Reports of consumers say so (`ConsumerReport.failures`). Nothing is moved because of it: another consumer would fail on
the same record. A partition counts as failing until its consumer, which may be another one by then, reports without the
failure, so that a flag outlives restarts and moves.
"""

from collections.abc import Collection

from restow.controller.transition import Transition
from restow.model import SortedMapping, TopicPartition
from restow.protocol.messages.reports import ConsumerReport


def learn(transition: Transition, report: ConsumerReport) -> None:
    known = transition.state.failing
    if not report.failures and not known:
        return
    reasons = {
        failure.topic: failure.reason for failure in report.failures if _is_current(transition, report, failure.topic)
    }
    failing = {partition: reason for partition, reason in known.items() if partition not in report.lag_records}
    failing |= {p: reasons[p.topic] for p in report.lag_records if p.topic in reasons}
    _set(transition, failing, "no consumer reports it any more")


def forget(transition: Transition, partitions: Collection[TopicPartition], words: str) -> None:
    """Removes partitions from the failing ones; `words` say how things are now."""
    known = transition.state.failing
    if not known.keys().isdisjoint(partitions):
        _set(transition, {p: reason for p, reason in known.items() if p not in partitions}, words)


def forget_topic(transition: Transition, topic: str) -> None:
    """Its definition changed: the new one may work."""
    partitions = [partition for partition in transition.state.failing if partition.topic == topic]
    forget(transition, partitions, "the topic's definition changed")


def _is_current(transition: Transition, report: ConsumerReport, topic: str) -> bool:
    """A consumer that still reads by an older definition says nothing about the present one."""
    service = transition.state.service_of(topic)
    return service is not None and report.definitions.get(topic) == service.digest


def _set(transition: Transition, failing: dict[TopicPartition, str], words: str) -> None:
    before = {partition.topic for partition in transition.state.failing}
    transition.set(failing=SortedMapping(failing))
    first: dict[str, str] = {}
    for partition, reason in transition.state.failing.items():
        first.setdefault(partition.topic, reason)
    for topic, reason in first.items():
        transition.flag(failing_flag(topic), reason)
    for topic in sorted(before.difference(first)):
        transition.clear(failing_flag(topic), words)


def failing_flag(topic: str) -> str:
    return f"failing {topic}"
