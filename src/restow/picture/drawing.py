"""Draws the picture: controller's state, chronicle and lags in, picture out. A function of its arguments alone."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

from restow.controller import closing, spares
from restow.controller.gains import most_consumers
from restow.controller.learned import LearnedCapacity, TopicCost
from restow.controller.load import loads
from restow.controller.state import State, View
from restow.controller.stuck import is_stuck
from restow.controller.transitions import Phase
from restow.model import Capacities, ConsumerId, Retention, SortedMapping, TopicPartition
from restow.picture import retention
from restow.picture.chronicle import Chronicle
from restow.picture.picture import (
    ConsumerStatus,
    Lag,
    LeftOutRecords,
    Limits,
    Overview,
    PartitionStatus,
    Paused,
    Picture,
    Pin,
    RaisedFlag,
    Recommending,
    ServiceAnswer,
)
from restow.picture.retention import Margin, Writing
from restow.picture.waits import waits

SHRINKS_BY: Final = 1.0
"""A backlog shrinks if its consumer stores at least this many bytes/s more than producers write."""

MOST_PINS: Final = 100
"""In the overview, which every record has."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What is known of a moment beside the controller's state."""

    group: str
    controller: str
    time: str
    """The wall clock, UTC."""
    lags: Mapping[TopicPartition, Lag] = field(default_factory=dict)
    retentions: Mapping[str, Retention] = field(default_factory=dict)
    """By topic; those of which it is not known are left out."""
    margin_small_since: str | None = None
    """When the picture before began to have unread records near their deletion; None if it had none."""


def draw(state: State, chronicle: Chronicle, moment: Moment, base: Picture | None = None) -> Picture:
    """With a base, the last whole picture, partitions that are where they were keep their rows of it: a change between
    two wholes is drawn in a fraction of the time."""
    readers = _readers(state)
    consumers = _consumers(state, chronicle, moment)
    partitions = _partitions(state, chronicle, moment, readers, base)
    flags = {name: RaisedFlag(words, chronicle.flags.get(name, moment.time)) for name, words in state.flags.items()}
    if base is not None:
        if retention.FLAG in base.overview.flags:
            flags[retention.FLAG] = base.overview.flags[retention.FLAG]
    elif small := _small_margins(state, moment, partitions):
        flags[retention.FLAG] = RaisedFlag(retention.words(small), moment.margin_small_since or moment.time)
    return Picture(_overview(state, chronicle, moment, SortedMapping(flags)), consumers, partitions)


def _overview(state: State, chronicle: Chronicle, moment: Moment, flags: SortedMapping[str, RaisedFlag]) -> Overview:
    rules = state.rules.controller
    return Overview(
        group=moment.group,
        controller=moment.controller,
        epoch=state.epoch or 0,
        time=moment.time,
        stage=state.stage,
        since=chronicle.stage_since,
        limits=Limits(
            _rounded(state.capacity_bytes_per_s),
            rules.fill_to,
            rules.trigger,
            rules.evict_to,
            rules.drain_to,
            state.least_consumers,
            state.most_consumers,
            rules.worth,
            rules.catch_up_s,
            rules.look_every_s,
            rules.close_after_s,
            capacity_is_learned=state.fixed_capacity_bytes_per_s is None,
            most_without_gain=most_consumers(state),
            moves_by_number=rules.moves_by_number,
            spares=rules.spares,
        ),
        flags=flags,
        waiting_for=waits(state),
        speeds_age_s=None if state.measured is None else _rounded(max(0.0, state.time_s - state.measured_s)),
        planned_with=None if state.packed is None else state.packed.time,
        creation_paused_s=_rounded(max(0.0, state.creation.until_s - state.time_s)),
        decisions=chronicle.decisions,
        paused=_paused(state),
        recommend_only=_recommending(state),
        pins=_pins(state),
        more_pins=max(0, len(state.desired.taken_pins) - MOST_PINS),
        service_offset=state.desired.offset,
        costs=_costs(state),
        fixed_costs=_fixed_costs(state),
        answers=tuple(ServiceAnswer(each.offset, each.taken, each.words) for each in state.desired.answers),
        left_out=SortedMapping({t: LeftOutRecords(n.rejected, n.skipped) for t, n in state.left_out.items()}),
        closing_waits=closing.waits_for(state),
    )


def _costs(state: State) -> SortedMapping[str, TopicCost]:
    learned = {} if state.fixed_capacity_bytes_per_s is not None else state.learned.costs
    return SortedMapping(
        {topic: TopicCost(_rounded(each.cost, 3), _rounded(each.bytes, 0)) for topic, each in learned.items()}
    )


def _fixed_costs(state: State) -> SortedMapping[str, float]:
    services = ((topic, state.service_of(topic)) for topic in {partition.topic for partition in state.known})
    return SortedMapping({topic: each.cost for topic, each in services if each is not None and each.cost is not None})


def _paused(state: State) -> Paused | None:
    pause = state.desired.pause
    return None if pause is None else Paused(pause.until, pause.by, pause.at, pause.reason)


def _recommending(state: State) -> Recommending | None:
    recommend = state.desired.recommend
    return None if recommend is None else Recommending(recommend.by, recommend.at, recommend.reason)


def _pins(state: State) -> SortedMapping[TopicPartition, Pin]:
    pins = islice(state.desired.taken_pins.items(), MOST_PINS)
    return SortedMapping(
        {
            partition: Pin(pin.consumer, pin.until, pin.by, pin.at, pin.reason)
            for partition, pin in pins
            if pin.consumer is not None and pin.until is not None
        }
    )


def _readers(state: State) -> dict[TopicPartition, ConsumerId]:
    """The consumer that reads each partition, as far as consumers have reported."""
    return {
        partition: consumer
        for consumer, view in state.consumers.items()
        if view.phase is not Phase.LOST
        for partition in view.held
    }


@dataclass(frozen=True, slots=True)
class _Group:
    """What all consumers are compared with; looked up once."""

    loads: Mapping[ConsumerId, float]
    capacities: Capacities
    fingerprint: str
    """Of the settings that consumers start with now."""
    spares: frozenset[ConsumerId]


def _consumers(state: State, chronicle: Chronicle, moment: Moment) -> SortedMapping[ConsumerId, ConsumerStatus]:
    group = _Group(loads(state), state.capacities(), state.fingerprint, frozenset(spares.of(state)))
    return SortedMapping(
        {
            consumer: _consumer(state, chronicle, moment, consumer, view, group)
            for consumer, view in state.consumers.items()
        }
    )


def _consumer(
    state: State, chronicle: Chronicle, moment: Moment, consumer: ConsumerId, view: View, group: _Group
) -> ConsumerStatus:
    report = view.report
    return ConsumerStatus(
        phase=view.phase,
        since=chronicle.phases.get(consumer, moment.time),
        partitions=len(view.held),
        capacity_bytes_per_s=_rounded(group.capacities[consumer]),
        load_bytes_per_s=_rounded(group.loads[consumer]),
        lag=None if view.phase is Phase.LOST else _sum(view.held, moment.lags),
        records_per_s=None if report is None else _rounded(report.records_per_s),
        bytes_per_s=None if report is None else _rounded(report.bytes_per_s),
        saturated=report is not None and report.saturated,
        cycle_s_mean=None if report is None else _rounded(report.cycle_s_mean, 3),
        cycle_s_max=None if report is None else _rounded(report.cycle_s_max, 3),
        restarts=chronicle.restarts.get(consumer, 0),
        incarnation=view.incarnation,
        settings=view.settings,
        outdated=view.settings is not None and view.settings != group.fingerprint,
        silent_s=_rounded(max(0.0, state.listened_s - view.heard_s)),
        learned=_learned(state, consumer),
        spare=consumer in group.spares,
    )


def _learned(state: State, consumer: ConsumerId) -> LearnedCapacity | None:
    known = state.learned.capacities.get(consumer)
    if known is None or state.fixed_capacity_bytes_per_s is not None:
        return None
    return LearnedCapacity(_rounded(known.bytes_per_s), _rounded(known.cycle_bytes))


def _sum(held: Iterable[TopicPartition], lags: Mapping[TopicPartition, Lag]) -> Lag | None:
    """Records add up; of seconds the partition that is furthest behind counts."""
    records, worst = 0, None
    for partition in held:
        lag = lags.get(partition)
        if lag is not None:
            records += lag.records
            if worst is None or (lag.seconds is not None and (worst.seconds is None or lag.seconds > worst.seconds)):
                worst = lag
    return None if worst is None else replace(worst, records=records)


def _partitions(
    state: State,
    chronicle: Chronicle,
    moment: Moment,
    readers: Mapping[TopicPartition, ConsumerId],
    base: Picture | None,
) -> SortedMapping[TopicPartition, PartitionStatus]:
    waiting = _waiting_for_rolled(state, readers)
    known = [partition for partition in state.known if state.service_of(partition.topic) is not None]
    kept = {} if base is None else _kept(state, readers, waiting, base)
    if base is not None and len(kept) == len(known) == len(base.partitions):
        return base.partitions
    catch_up_s = _catch_up_s(state)
    return SortedMapping(
        {
            partition: kept.get(partition)
            or _partition(state, chronicle, moment, partition, readers.get(partition), catch_up_s, waiting)
            for partition in sorted(known)
        }
    )


def _kept(
    state: State,
    readers: Mapping[TopicPartition, ConsumerId],
    waiting: Mapping[TopicPartition, ConsumerId],
    base: Picture,
) -> dict[TopicPartition, PartitionStatus]:
    """The rows of the partitions that are where the base has them."""
    target: Mapping[TopicPartition, ConsumerId] = state.target or {}
    kept = {}
    for partition, row in base.partitions.items():
        consumer = readers.get(partition)
        if row.consumer == consumer and row.waits_for is None and row.refused_for_s is None:
            wanted = target.get(partition)
            is_same = row.moving_to == (wanted if wanted != consumer else None)
            if is_same and partition in state.known and partition not in waiting and partition not in state.refused:
                kept[partition] = row
    return kept


def _partition(
    state: State,
    chronicle: Chronicle,
    moment: Moment,
    partition: TopicPartition,
    consumer: ConsumerId | None,
    catch_up_s: Mapping[ConsumerId, float],
    waiting: Mapping[TopicPartition, ConsumerId],
) -> PartitionStatus:
    lag = moment.lags.get(partition)
    place = chronicle.places.get(partition)
    speed = None if state.measured is None else state.measured.speeds.get(partition)
    target = None if state.target is None else state.target.get(partition)
    resting = state.is_resting(partition)
    margin = _margin(state, moment, partition)
    view = None if consumer is None else state.consumers.get(consumer)
    return PartitionStatus(
        consumer=consumer,
        since=place.since if place is not None and place.consumer == consumer else None,
        bytes_per_s=None if speed is None else _rounded(speed),
        lag=lag,
        catch_up_s=_or_none(catch_up_s.get(consumer)) if lag is not None and lag.records and consumer else None,
        moving_to=target if target is not None and target != consumer else None,
        refused_for_s=_rounded(state.refused[partition].until_s - state.time_s) if resting else None,
        waits_for=waiting.get(partition),
        stuck=view is not None and is_stuck(state, view, partition),
        retention_margin_s=None if margin is None else _rounded(margin.seconds),
    )


def _waiting_for_rolled(state: State, readers: Mapping[TopicPartition, ConsumerId]) -> dict[TopicPartition, ConsumerId]:
    return {
        partition: consumer
        for consumer, view in state.consumers.items()
        for partition in view.held_before_roll
        if partition not in readers
    }


def _small_margins(
    state: State, moment: Moment, partitions: Mapping[TopicPartition, PartitionStatus]
) -> dict[TopicPartition, PartitionStatus]:
    least_s = state.rules.controller.retention_margin_s
    found = {}
    for partition, status in partitions.items():
        margin = None if status.retention_margin_s is None else _margin(state, moment, partition)
        if margin is not None and margin.is_small(least_s):
            found[partition] = status
    return found


def _margin(state: State, moment: Moment, partition: TopicPartition) -> Margin | None:
    kept, lag = moment.retentions.get(partition.topic), moment.lags.get(partition)
    if kept is None or lag is None:
        return None
    measured = state.measured
    writing = None
    if measured is not None and partition in measured.speeds and partition in measured.records_per_s:
        writing = Writing(measured.speeds[partition], measured.records_per_s[partition])
    return retention.margin(kept, lag, writing)


def _catch_up_s(state: State) -> dict[ConsumerId, float]:
    """Seconds until each consumer has worked off its backlog, at its present throughput. Left out are consumers
    whose backlog does not shrink. All backlogs of a consumer shrink together, and end together."""
    found: dict[ConsumerId, float] = {}
    if state.measured is None:
        return found
    for consumer, view in state.consumers.items():
        report = view.report
        if report is None or report.records_per_s <= 0:
            continue
        written = math.fsum(state.measured.speeds.get(partition, 0.0) for partition in view.held)
        room = report.bytes_per_s - written
        if room >= SHRINKS_BY:
            behind = sum(report.lag_records.values()) * report.bytes_per_s / report.records_per_s
            found[consumer] = behind / room
    return found


def _or_none(seconds: float | None) -> float | None:
    return None if seconds is None else _rounded(seconds)


def _rounded(number: float, digits: int = 1) -> float:
    return round(float(number), digits)
