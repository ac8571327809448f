"""Learns the capacity of each consumer from the work that consumers report. Pure.

A consumer reports the bytes of its cycles by topic and the seconds that they took (protocol: Work). Its capacity is the
bytes, weighted by the costs of their topics (costs.py), over the seconds: slow to rise, quick to fall, and within
bounds, so that no report does much harm. docs/decisions/060-learned-capacity.md has the reasons.

The controller's machine calls `learn` with each report (consumer_events.py), and `recall` at a start.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from restow.controller.costs import FixedCost, weighted_bytes, with_work
from restow.controller.learned import Learned, LearnedCapacity, Moments, TopicCost
from restow.model import ConsumerId, SortedMapping
from restow.protocol.messages.reports import ConsumerReport, Work

RISE_S: Final = 60.0
"""Seconds of work after which a capacity has risen by half of the way: a plan that trusts too much is worse than one
that waits."""
FALL_S: Final = 15.0
"""The same for a fall: a consumer that is slower than assumed gathers a backlog at once."""
LEAST_SHARE: Final = 0.25
"""Of the start value: no capacity falls below it, whatever is reported."""
FASTEST: Final = 4.0
"""No consumer is believed to carry more than this many times the median of the others, nor than that of the start
value if it is higher: anything else is a wrong report."""
STEP: Final = 2.0
"""A report counts as at most this many times as fast or slow as what is known: a wrong one does little harm."""
COMPARABLE: Final = 0.7
"""Cycles of at least this share of the size from which a capacity was learned are evidence that it has fallen."""


def no_fixed_cost(topic: str) -> float | None:
    del topic
    return None


@dataclass(frozen=True, slots=True)
class Terms:
    """The conditions of learning: where a capacity starts, whether it may fall, and which costs are fixed."""

    start_bytes_per_s: float
    may_fall: bool = True
    """Whether capacities may fall now (gains.py)."""
    fixed_cost: FixedCost = no_fixed_cost


def learn(learned: Learned, report: ConsumerReport, terms: Terms) -> Learned:
    """What is known after a report. Reports of consumers that don't report their work change nothing."""
    work = report.work
    if work is None or work.total_bytes <= 0:
        return learned
    learned = with_work(learned, report.consumer, work, terms.fixed_cost)
    known = learned.capacities.get(report.consumer)
    if known is None:  # as the others, or the start value
        known = LearnedCapacity(learned.median_bytes_per_s() or terms.start_bytes_per_s, 0.0)
    known = _after(known, _rate(learned, report, work, terms), report, work, terms)
    others = learned.without(report.consumer).median_bytes_per_s()
    if others is not None:
        highest = FASTEST * max(others, terms.start_bytes_per_s)
        known = replace(known, bytes_per_s=min(known.bytes_per_s, highest))
    return replace(learned, capacities=SortedMapping({**learned.capacities, report.consumer: known}))


def recall(
    learned: Learned, capacities: Mapping[ConsumerId, LearnedCapacity], costs: Mapping[str, TopicCost]
) -> Learned:
    """What an earlier controller had learned, where this one has learned nothing yet."""
    moments = {topic: Moments(each.cost) for topic, each in costs.items()}
    return replace(
        learned,
        capacities=SortedMapping({**capacities, **learned.capacities}),
        costs=SortedMapping({**costs, **learned.costs}),
        moments=SortedMapping({**moments, **learned.moments}),
    )


def restarted(learned: Learned, consumer: ConsumerId) -> Learned:
    """Another process, perhaps with other settings: any cycle is evidence again."""
    known = learned.capacities.get(consumer)
    if known is None:
        return learned
    capacities = {**learned.capacities, consumer: replace(known, cycle_bytes=0.0)}
    mixes = {other: mix for other, mix in learned.mixes.items() if other != consumer}
    return replace(learned, capacities=SortedMapping(capacities), mixes=SortedMapping(mixes))


def _rate(learned: Learned, report: ConsumerReport, work: Work, terms: Terms) -> float:
    """Bytes of mean cost per second of work. The throughput of a consumer that did not pause is its capacity, whatever
    it says about its cycles."""
    weighted = weighted_bytes(work, learned.costs, terms.fixed_cost)
    rate = weighted / work.busy_s
    if report.saturated and report.bytes_per_s > 0:
        rate = min(rate, report.bytes_per_s * weighted / work.total_bytes)
    return rate


def _after(known: LearnedCapacity, rate: float, report: ConsumerReport, work: Work, terms: Terms) -> LearnedCapacity:
    size = work.total_bytes / work.cycles
    is_comparable = report.saturated or size >= COMPARABLE * known.cycle_bytes
    if rate < known.bytes_per_s and not (terms.may_fall and is_comparable):
        return known
    after_s = RISE_S if rate >= known.bytes_per_s else FALL_S
    share = work.busy_s / (work.busy_s + after_s)
    rate = max(known.bytes_per_s / STEP, min(known.bytes_per_s * STEP, rate))
    capacity = known.bytes_per_s + share * (rate - known.bytes_per_s)
    before = known.cycle_bytes or size
    return LearnedCapacity(max(capacity, LEAST_SHARE * terms.start_bytes_per_s), before + share * (size - before))
