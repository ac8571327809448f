"""Learns what a byte of each topic costs, by a regression over the reports of all consumers. Called by capacity.py.

A report has the seconds of work per byte, and the share of each topic in the bytes. What deviates from the consumer's
own mean is explained by what deviates in its shares:

    deviation of the seconds per byte = sum over topics of cost × deviation of the share

so that machines may differ. With a low weight, a consumer's mean is also compared with the group's: as long as no mix
changes, a difference between consumers is more likely one of their topics, because most machines are alike. The least
squares are regularized towards the costs that were known, and old reports are forgotten. The mean cost, weighted by
bytes, is 1.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from restow.controller.learned import Learned, Mix, Moments, TopicCost
from restow.model import ConsumerId, SortedMapping
from restow.protocol.messages.reports import Work

MIX_S: Final = 120.0
"""Seconds of work after which a mean has gone half of the way."""
FORGOTTEN_S: Final = 3600.0
"""Seconds of work after which a report counts half: transforms and records change with the days."""
BETWEEN: Final = 0.005
"""The weight of a comparison with the group's mean, relative to one with the consumer's own."""
CAUTION: Final = 0.02
"""The weight of the costs that were known. Sixty reports whose shares deviate by 5 % have a weight of 0.15."""
SURPRISE: Final = 0.5
"""A report counts as if it had taken at most this share longer or shorter than the mean, so that a wrong one does
little harm."""
IMPLAUSIBLE: Final = 4.0
"""A report that took this many times longer or shorter than the consumer's mean says nothing about costs."""
MOST_TOPICS: Final = 16
"""The topics with the most bytes, whose costs are learned; others cost 1."""
SWEEPS: Final = 4
"""Of the solver (Gauss-Seidel) after each report; it begins with the costs before."""
LOWEST, HIGHEST = 0.1, 10.0

FixedCost = Callable[[str], float | None]
"""The cost of a topic if its definition says it."""


def cost_of(costs: Mapping[str, TopicCost], topic: str, fixed: FixedCost) -> float:
    given = fixed(topic)
    if given is not None:
        return given
    known = costs.get(topic)
    return 1.0 if known is None else known.cost


def weighted_bytes(work: Work, costs: Mapping[str, TopicCost], fixed: FixedCost) -> float:
    """The work's bytes as bytes of mean cost."""
    named = (cost_of(costs, topic, fixed) * size for topic, size in work.bytes.items())
    return math.fsum(named) + work.other_bytes


def with_work(learned: Learned, consumer: ConsumerId, work: Work, fixed: FixedCost) -> Learned:
    """What is known of costs after a report."""
    learned = _with_topics(learned, work, fixed)
    now = _mix(work, learned.costs)
    own, mean = learned.mixes.get(consumer), learned.mean
    if own is not None and mean is not None and len(learned.costs) > 1 and _is_plausible(now, own):
        kept = 1.0 - _share(work.busy_s, FORGOTTEN_S)
        moments = _with_deviation(learned, learned.moments, now, own, 1.0, kept, fixed)
        moments = _with_deviation(learned, moments, own, mean, BETWEEN, 1.0, fixed)
        learned = replace(learned, moments=moments, costs=_solved(learned.costs, moments))
    share = _share(work.busy_s, MIX_S)
    mixes = SortedMapping({**learned.mixes, consumer: _moved(own, now, share)})
    return replace(learned, mixes=mixes, mean=_moved(mean, now, share))


def _with_topics(learned: Learned, work: Work, fixed: FixedCost) -> Learned:
    """Adds the work to the topics' bytes, and keeps the topics with the most of them."""
    kept = 1.0 - _share(work.busy_s, FORGOTTEN_S)
    sizes = {topic: each.bytes * kept for topic, each in learned.costs.items()}
    for topic, size in work.bytes.items():
        sizes[topic] = sizes.get(topic, 0.0) + size
    free = sorted((topic for topic in sizes if fixed(topic) is None), key=lambda topic: (-sizes[topic], topic))
    costs = {topic: TopicCost(cost_of(learned.costs, topic, fixed), sizes[topic]) for topic in free[:MOST_TOPICS]}
    moments = {topic: each for topic, each in learned.moments.items() if topic in costs}
    moments |= {topic: Moments(each.cost) for topic, each in costs.items() if topic not in moments}
    return replace(learned, costs=SortedMapping(costs), moments=SortedMapping(moments))


def _mix(work: Work, costs: Mapping[str, TopicCost]) -> Mix:
    total = work.total_bytes
    shares = {topic: work.bytes[topic] / total if topic in work.bytes else 0.0 for topic in costs}
    return Mix(work.busy_s / total, SortedMapping(shares))


def _with_deviation(
    learned: Learned,
    moments: Mapping[str, Moments],
    now: Mix,
    mean: Mix,
    weight: float,
    kept: float,
    fixed: FixedCost,
) -> SortedMapping[str, Moments]:
    off = {topic: now.shares.get(topic, 0.0) - mean.shares.get(topic, 0.0) for topic in learned.costs}
    longer = max(-SURPRISE, min(SURPRISE, now.s_per_byte / mean.s_per_byte - 1.0))
    cost = math.fsum(cost_of(learned.costs, topic, fixed) * share for topic, share in mean.shares.items())
    cost += 1.0 - math.fsum(mean.shares.values())  # other topics cost 1
    found = {}
    for topic, each in moments.items():
        products = {
            other: each.products.get(other, 0.0) * kept + weight * off[topic] * off[other] for other in learned.costs
        }
        response = each.response * kept + weight * off[topic] * longer * cost
        found[topic] = Moments(each.start, response, SortedMapping(products))
    return SortedMapping(found)


def _solved(costs: Mapping[str, TopicCost], moments: Mapping[str, Moments]) -> SortedMapping[str, TopicCost]:
    """The costs that explain the deviations best, with mean 1."""
    values = {topic: each.cost for topic, each in costs.items()}
    for _ in range(SWEEPS):
        for topic, each in moments.items():
            others = math.fsum(product * values[other] for other, product in each.products.items() if other != topic)
            weight = each.products[topic] + CAUTION
            value = (each.response - others + CAUTION * each.start) / weight
            values[topic] = max(LOWEST, min(HIGHEST, value))
    total = math.fsum(each.bytes for each in costs.values())
    mean = math.fsum(values[topic] * each.bytes for topic, each in costs.items()) / total
    return SortedMapping({topic: TopicCost(values[topic] / mean, each.bytes) for topic, each in costs.items()})


def _is_plausible(now: Mix, own: Mix) -> bool:
    return 1 / IMPLAUSIBLE < now.s_per_byte / own.s_per_byte < IMPLAUSIBLE


def _moved(known: Mix | None, towards: Mix, share: float) -> Mix:
    """A wrong report moves the mean no further than one that took twice or half as long."""
    if known is None:
        return towards
    s_per_byte = max(known.s_per_byte / 2, min(known.s_per_byte * 2, towards.s_per_byte))
    shares = {topic: _between(known.shares.get(topic, 0.0), each, share) for topic, each in towards.shares.items()}
    return Mix(_between(known.s_per_byte, s_per_byte, share), SortedMapping(shares))


def _between(known: float, towards: float, share: float) -> float:
    return known + (towards - known) * share


def _share(busy_s: float, after_s: float) -> float:
    return busy_s / (busy_s + after_s)
