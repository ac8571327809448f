"""Explains a partition, a consumer or a decision in lines: why it is as it is, since when, and what would change it.

Everything comes from the picture and the decisions on the status topic; every figure is in the picture.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from restow.errors import InvalidInput
from restow.model import ConsumerId, TopicPartition
from restow.picture.picture import ConsumerStatus, Decision, Overview, PartitionStatus, Picture, Pin
from restow.text import clock, counted, percent, said_by, sized, spanned

LASTING_S: Final = 60.0
"""A younger lag is that of records on their way."""


def explain_partition(picture: Picture, decisions: Sequence[Decision], partition: TopicPartition) -> Iterator[str]:
    """`decisions` are all that are known, newest first. Raises InvalidInput if the group doesn't consume it."""
    status = picture.partitions.get(partition)
    if status is None:
        topics = sorted({each.topic for each in picture.partitions})
        raise InvalidInput(
            f"the group does not consume {partition}; it consumes partitions of {', '.join(topics) or 'no topic yet'}"
        )
    since = "since before this controller began" if status.since is None else f"since {clock(status.since)}"
    if status.consumer is None:
        yield f"{partition} has no consumer, {since}"
    else:
        yield f"{partition} is read by consumer {status.consumer}, {since}"
    if status.moving_to is not None:
        yield f"  the present plan gives it to consumer {status.moving_to}"
    pin = picture.overview.pins.get(partition)
    if pin is not None:
        yield f"  it is {_pinned(pin)}; no plan moves it from consumer {pin.consumer} before"
    if status.waits_for is not None:
        yield f"  it waits for consumer {status.waits_for}, which restarts and reads it again"
    if status.refused_for_s is not None:
        yield f"  a consumer refused it; the next attempt is in {status.refused_for_s:.0f} s"
    if status.bytes_per_s is None:
        yield "  its write speed was never measured"
    else:
        share = percent(status.bytes_per_s * _cost(picture, partition.topic) / _capacity(picture, status.consumer))
        yield f"  it is written at {sized(status.bytes_per_s)}/s, {share} of a consumer's capacity"
        yield from _cost_words(picture, partition.topic)
    if status.stuck:
        yield "  it is stuck: its backlog does not shrink although its consumer has room; it counts as no load"
    yield from _lag(status)
    yield from _moves(decisions, f"{partition}")
    if status.consumer is not None and status.consumer in picture.consumers:
        yield "what would move it next:"
        if pin is not None and pin.consumer == status.consumer:
            yield f"  nothing for load before its pin ends; recovery, if consumer {pin.consumer} is lost"
        else:
            yield from _next(picture, status.consumer, picture.consumers[status.consumer])


def _cost(picture: Picture, topic: str) -> float:
    overview = picture.overview
    if topic in overview.fixed_costs:
        return overview.fixed_costs[topic]
    return overview.costs[topic].cost if topic in overview.costs else 1.0


def _cost_words(picture: Picture, topic: str) -> Iterator[str]:
    how = "as its definition says" if topic in picture.overview.fixed_costs else "as its consumers' cycles say"
    if topic in picture.overview.fixed_costs or topic in picture.overview.costs:
        yield f"  a byte of {topic} costs {_cost(picture, topic):.2g} times the mean of all topics, {how}"


def _capacity(picture: Picture, consumer: ConsumerId | None) -> float:
    status = None if consumer is None else picture.consumers.get(consumer)
    return picture.overview.limits.capacity_bytes_per_s if status is None else status.capacity_bytes_per_s


def _lag(status: PartitionStatus) -> Iterator[str]:
    lag = status.lag
    if lag is None:
        yield "  its lag is not known: no consumer has said where it is, and the group has no committed offset of it"
        return
    if not lag.records:
        yield "  it is caught up"
        return
    source = " by the record's timestamp" if lag.source == "record timestamp" else ""
    age = "" if lag.seconds is None else f", {spanned(lag.seconds)} behind{source}"
    yield f"  lag: {counted(lag.records, 'record')}{age}"
    if status.catch_up_s is not None:
        yield f"  at the present throughput it is caught up in {spanned(status.catch_up_s)}"
    elif status.consumer is not None and lag.seconds is not None and lag.seconds >= LASTING_S:
        yield "  at the present throughput its lag does not shrink"
    if status.retention_margin_s is not None:
        yield f"  Kafka keeps its oldest unread record for at least {spanned(status.retention_margin_s)} more"


def explain_consumer(picture: Picture, decisions: Sequence[Decision], consumer: ConsumerId) -> Iterator[str]:
    """Raises InvalidInput if there is no such consumer, and no decision on one."""
    status = picture.consumers.get(consumer)
    found = list(_moves(decisions, f"consumer {consumer}"))
    if status is None:
        if not any(f"consumer {consumer} " in reason for decision in decisions for reason in decision.reasons):
            numbers = ", ".join(str(number) for number in picture.consumers) or "none"
            raise InvalidInput(f"there is no consumer {consumer}; the group has {numbers}")
        yield f"consumer {consumer} does not exist now"
        yield from found
        return
    yield f"consumer {consumer} is {status.phase}{', a spare,' if status.spare else ''} since {clock(status.since)}"
    yield f"  it holds {counted(status.partitions, 'partition')}"
    yield f"  its load is {sized(status.load_bytes_per_s)}/s, {_share(status)} of its capacity"
    if status.learned is not None:
        yield f"  its capacity is learned from its cycles: {sized(status.learned.bytes_per_s)}/s"
    elif picture.overview.limits.capacity_is_learned:
        yield f"  its capacity is not learned yet; {sized(status.capacity_bytes_per_s)}/s is assumed"
    if status.restarts:
        yield f"  this controller has seen {counted(status.restarts, 'restart')} of it"
    if status.outdated:
        yield "  it runs with older settings than consumers start with now"
    yield from (f"  the controller waits for {wait}" for wait in _waits(picture, consumer))
    yield from found
    yield "what would change it next:"
    yield from _next(picture, consumer, status)


def explain_decision(decision: Decision) -> Iterator[str]:
    yield f"{clock(decision.time)}: {decision.summary}"
    yield from decision_lines(decision)


def holds(overview: Overview) -> Iterator[str]:
    """What keeps the controller from acting on its decisions: a pause, recommend only."""
    if (paused := overview.paused) is not None:
        until = "until it is resumed" if paused.until is None else f"until {clock(paused.until)}"
        yield f"the group is paused {until}{said_by(paused.by, paused.reason)}"
    if (recommend := overview.recommend_only) is not None:
        yield f"decisions are only recommended{said_by(recommend.by, recommend.reason)}"


def decision_lines(decision: Decision, most: int | None = None) -> Iterator[str]:
    """Its cause and its reasons; of a long list the first ones."""
    if decision.cause:
        yield f"  because {decision.cause}"
    reasons = decision.reasons[:most]
    yield from (f"  {reason}" for reason in reasons)
    cut, left_out = len(decision.reasons) - len(reasons), decision.more_reasons
    if cut:
        yield f"  and {counted(cut + left_out, 'reason')} more, which `restow explain --last` has"
    elif left_out:
        yield f"  and {counted(left_out, 'reason')} more, which `restow replay` has"


def _moves(decisions: Sequence[Decision], subject: str) -> Iterator[str]:
    """What decisions said about the subject, newest first."""
    found = [
        (decision, [reason for reason in decision.reasons if reason.startswith(f"{subject} ")])
        for decision in decisions
    ]
    found = [(decision, reasons) for decision, reasons in found if reasons]
    if not found:
        yield (
            f"no known decision moved it; the oldest known is of {clock(decisions[-1].time)}"
            if decisions
            else "no decision is known"
        )
        return
    yield "what was decided about it, newest first:"
    for decision, reasons in found:
        yield f"  {clock(decision.time)}, because {decision.cause}"
        yield from (f"    {reason}" for reason in reasons)


def _next(picture: Picture, consumer: ConsumerId, status: ConsumerStatus) -> Iterator[str]:
    limits = picture.overview.limits
    yield from (f"  {words}; nothing of what follows is done before that ends" for words in holds(picture.overview))
    yield (
        f"  consumer {consumer} is at {_share(status)} of its capacity; above {percent(limits.trigger)} it gives up "
        f"partitions, the lightest that suffices first, until it is at {percent(limits.evict_to)}"
    )
    others = [each for number, each in picture.consumers.items() if number != consumer]
    pinned = [(each, pin) for each, pin in picture.overview.pins.items() if pin.consumer == consumer]
    if pinned:
        partition, pin = max(pinned, key=lambda each: each[1].until)
        more = "" if len(pinned) == 1 else f", as the last of {len(pinned)}"
        yield f"  it is not closed: {partition} is {_pinned(pin)}{more}"
        return
    if not others:
        yield "  it is not closed: there is no other consumer for its partitions"
        return
    if len(picture.consumers) <= limits.least_consumers:
        yield f"  it is not closed: the group keeps at least {counted(limits.least_consumers, 'consumer')}"
        return
    room = sum(max(0.0, limits.drain_to * each.capacity_bytes_per_s - each.load_bytes_per_s) for each in others)
    free = percent(room / status.capacity_bytes_per_s)
    minutes = f", now and at all times of the last {limits.close_after_s:g} s" if limits.close_after_s else ""
    yield (
        f"  it is closed if the others can take its {_share(status)} and stay at or below {percent(limits.drain_to)}"
        f"{minutes}; they have room for {free} now"
    )
    if picture.overview.closing_waits is not None:
        yield f"  {picture.overview.closing_waits}"


def _pinned(pin: Pin) -> str:
    return f"pinned until {clock(pin.until)}{said_by(pin.by, pin.reason)}"


def _waits(picture: Picture, consumer: ConsumerId) -> list[str]:
    return [words for words in picture.overview.waiting_for if words.startswith(f"consumer {consumer} ")]


def _share(status: ConsumerStatus) -> str:
    return percent(status.load_bytes_per_s / status.capacity_bytes_per_s)
