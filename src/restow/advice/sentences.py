"""The advice in words: what was seen, how many consumers it takes, and what stands in the way."""

from collections.abc import Iterator
from typing import Final

from restow.advice.advice import HOURS_PER_MONTH, Advice
from restow.text import counted, listed, percent, sized, spanned

COMMITS_S: Final = 5.0
"""Clients commit every 5 s by default: a lag that changed by less than is written in this time is called steady."""


def observations(advice: Advice) -> Iterator[tuple[str, str]]:
    """Label and sentence, for a block of lines."""
    facts = advice.facts
    topics = len({partition.topic for partition in facts.partitions})
    what = f"{counted(len(facts.partitions), 'partition')} of {counted(topics, 'topic')}"
    yield "load", f"{what}, written at {sized(facts.speeds.total)}/s, {facts.records_per_s:,.0f} records/s"
    yield "members", _members(advice)
    yield "lag", _lag(advice)
    yield "capacity", _capacity(advice)
    yield "skew", _skew(advice)


def verdict(advice: Advice) -> Iterator[str]:
    """The advice itself, most important first."""
    yield _size(advice)
    if advice.too_fast:
        yield (
            f"{listed(advice.too_fast)} alone is written faster than one consumer reads: no number of consumers helps, "
            "only more partitions, faster consumers or a cheaper transform."
        )
    if advice.idle:
        yield _idle(advice)
    yield from _others(advice)
    if advice.capacity.is_at_least:
        yield (
            "No member had a backlog, so that a consumer may sustain more than was seen, and fewer may do. Watch at a "
            "busy hour, or give what you measured: --capacity BYTES_PER_S."
        )


def _members(advice: Advice) -> str:
    facts = advice.facts
    if not facts.members:
        return f"none: the group is {facts.state}, and nothing reads for it now"
    protocol = "the consumer protocol (KIP-848)" if facts.protocol == "consumer" else "the classic protocol"
    words = f"{len(facts.members)}, {facts.assignor or 'an unknown'} assignor, {protocol}"
    words += f"; {counted(len(advice.idle), 'member')} without a partition" if advice.idle else ""
    return words + ("; it rebalanced during the watch" if facts.has_rebalanced else "")


def _lag(advice: Advice) -> str:
    facts = advice.facts
    words = f"{counted(facts.lag_records, 'record')}"
    if facts.records_per_s:
        words += f", {spanned(facts.lag_records / facts.records_per_s)} of writing"
    change = facts.lags[-1][1] - facts.lags[0][1]
    if abs(change) > COMMITS_S * facts.records_per_s:
        words += f"; it {'grew' if change > 0 else 'shrank'} by {abs(change) / facts.watched_s:,.0f} records/s"
    else:
        words += "; steady"
    missing = facts.without_offset
    return words + (f"; {counted(len(missing), 'partition')} have no committed offset" if missing else "")


def _capacity(advice: Advice) -> str:
    capacity = advice.capacity
    speed = f"{sized(capacity.bytes_per_s)}/s a consumer"
    match capacity.source:
        case "given":
            return f"{speed}, as given"
        case "backlog":
            return f"{speed}: what {counted(len(capacity.members), 'member')} with a backlog read"
        case "fastest":
            return f"at least {speed}: what the fastest member read, without a backlog"
        case "assumed":
            return f"{speed} is assumed: nothing was read during the watch"


def _skew(advice: Advice) -> str:
    skew, facts = advice.skew, advice.facts
    if skew.fastest is None or not facts.speeds.total:
        return "unknown: nothing was written during the watch"
    words = (
        f"{skew.fastest} is the fastest partition, {percent(round(skew.fastest_of_total, 3))} of the load and "
        f"{percent(round(skew.fastest_of_capacity, 3))} of a consumer"
    )
    if skew.busiest is not None and len(facts.members) > 1:
        words += f"; the busiest member carries {skew.times_the_mean:.1f} times the mean"
    return words


def _size(advice: Advice) -> str:
    facts, members = advice.facts, len(advice.facts.members)
    about = "at most " if advice.capacity.is_at_least else ""
    needs = f"The load needs {about}{counted(advice.needed, 'consumer')}"
    if advice.needed_at_peak > advice.needed:
        needs += f", {advice.needed_at_peak} at its busiest"
    if not facts.speeds.total:
        return "Nothing was written during the watch: one consumer is enough, or none. Watch at a busy hour."
    if not members:
        return f"{needs}; the group has no members."
    if advice.spare:
        return f"{needs}; the group has {members}: {advice.spare} too many, {_cost(advice, advice.spare)}."
    if advice.missing:
        return f"{needs}; the group has {members}: {advice.missing} too few, and its lag grows."
    return f"{needs}, as many as the group has." if members == advice.needed else f"{needs}; the group has {members}."


def _cost(advice: Advice, consumers: int) -> str:
    hours = consumers * HOURS_PER_MONTH
    words = f"{hours:,.0f} consumer-hours a month"
    return words if advice.price_per_hour is None else f"{words}, which cost {hours * advice.price_per_hour:,.2f}"


def _idle(advice: Advice) -> str:
    idle = len(advice.idle)
    has = "1 member has no partition and reads" if idle == 1 else f"{idle} members have no partition and read"
    return f"{has} nothing: {_cost(advice, idle)}."


def _others(advice: Advice) -> Iterator[str]:
    if not advice.facts.speeds.total:
        return
    ways = {way.name: way for way in advice.ways}
    ours, keda = ways["restow"], ways["KEDA"]
    if keda.consumers != ours.consumers:
        yield (
            f"KEDA would run {counted(keda.consumers, 'consumer')}: it follows the lag in records, not the load "
            f"({keda.note})."
        )
    assignors = [way for name, way in ways.items() if name.startswith("Kafka")]
    best = min(assignors, key=lambda way: (way.overloaded, way.consumers))
    if best.consumers > ours.consumers:
        yield (
            f"Kafka's assignors count partitions, whatever their speed: they need {best.consumers} consumers where "
            f"restow needs {ours.consumers}."
        )
    changes = f"{counted(ours.moves, 'move')}" if ours.moves else "no move"
    size, busiest = counted(ours.consumers, "consumer"), percent(round(ours.busiest, 2))
    yield f"restow would run {size}, the busiest at {busiest}, after {changes}."
