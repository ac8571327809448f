"""Sentinel: watch, and say when there is a reason to look again at who reads what.

Speeds that are stale, missing or impossible hold everything as it is and raise a flag.
"""

from restow.controller import roll
from restow.controller.consumer_events import forget_refusals
from restow.controller.events import ClockTicked, Event, SpeedsMeasured
from restow.controller.load import loads
from restow.controller.reconcile import is_outdated
from restow.controller.state import State, View
from restow.controller.transition import Turn
from restow.controller.transitions import Cause, Phase
from restow.model import SortedMapping, Speeds, TopicPartition
from restow.protocol.messages import ServiceUpdate
from restow.text import listed

CHECK_EVERY_S = 5.0
"""The reasons to look are gone through with every measurement, and without any this often."""
STALE, IMPOSSIBLE, MISSING = "stale speeds", "impossible speeds", "missing speeds"


def measure(turn: Turn, event: SpeedsMeasured) -> None:
    state, before = turn.state, turn.state.measured
    fastest = state.rules.controller.fastest_partition_bytes_per_s
    too_fast = tuple(partition for partition, speed in event.speeds.items() if speed > fastest)
    if too_fast:
        turn.flag(IMPOSSIBLE, f"{listed(too_fast)} can't be as fast as measured; that measurement is passed over")
        return
    if before is not None and event.time <= before.time and not state.speeds_are_stale:
        return  # old news; when none newer comes it is taken, for the monitor's clock may have been set back
    turn.flag(IMPOSSIBLE, None)
    missing = _missing(state, event)
    turn.flag(MISSING, f"{listed(missing)} not measured; the last known speed counts, or 0" if missing else None)
    if not event.speeds:
        return
    if before is not None and missing:
        event = _completed(event, before, missing)
    turn.set(measured=event, measured_s=state.time_s)
    turn.learn(event.speeds)
    turn.flag(STALE, None)


def watch(turn: Turn) -> None:
    """Whether speeds still come, in whatever state."""
    after_s = turn.state.rules.controller.stale_after_s
    if turn.state.now_s is not None and turn.state.now_s - turn.state.measured_s > after_s:
        turn.flag(STALE, f"no speeds for more than {after_s:g} s; nothing is scaled until they come")


def update_service(turn: Turn, update: ServiceUpdate, env_digest: str | None) -> None:
    if update.consumers is not None:
        # The newest word counts alone: the others are compacted away.
        roll.renew(turn, update.consumers, update.consumers.env_digest if env_digest is None else env_digest)
        return
    assert update.topic is not None
    before = turn.state.service_of(update.topic)
    updates = {**turn.state.updates, update.topic: update.service}
    if update.action == "reset":
        del updates[update.topic]
    turn.set(updates=SortedMapping(updates))
    if turn.state.service_of(update.topic) != before:
        turn.upset = Cause.TOPICS
        forget_refusals(turn, update.topic)


def reason_to_look(turn: Turn, event: Event) -> Cause | None:
    """Gone through when speeds arrive, and from time to time without them."""
    state = turn.state
    is_time = isinstance(event, ClockTicked) and state.time_s - state.checked_s >= CHECK_EVERY_S
    if not is_time and not isinstance(event, SpeedsMeasured):
        return None
    turn.set(checked_s=state.time_s)
    roll.tell(turn)
    if not state.can_have_anybody:
        return None  # nobody is there and nobody can be had: a look would find nothing
    return _unplaced(state) or _overload(state) or _long_since(state) or _outdated(state)


def _unplaced(state: State) -> Cause | None:
    """By sets of partitions rather than one by one: it is asked with every measurement, and there may be many."""
    held: set[TopicPartition] = set()
    left: set[TopicPartition] = set()
    is_unwanted = False
    for view in state.consumers.values():
        may_hold = view.may_hold
        if view.phase is Phase.ROLLING:
            left |= may_hold | view.had
            continue
        if view.phase in (Phase.LEAVING, Phase.LOST):
            lost = view.phase is Phase.LOST
            left.update(each for each in may_hold if not lost or not state.refuses_late_writes(each.topic))
            continue
        if not held.isdisjoint(may_hold):
            return Cause.DISAGREEMENT
        held |= may_hold
        is_unwanted = is_unwanted or _is_unwanted(state, view, {partition.topic for partition in may_hold})
    if is_unwanted:
        return Cause.TOPICS
    unknown = state.unknown
    for partition in state.known - held - left:
        if (
            state.service_of(partition.topic) is not None
            and not state.is_resting(partition)
            and not state.must_wait(partition, unknown)
        ):
            return Cause.UNASSIGNED
    return None


def _is_unwanted(state: State, view: View, topics: set[str]) -> bool:
    """Whether something is read that is of no interest, or by an old definition."""
    return any(state.service_of(topic) is None or is_outdated(state, view, topic) for topic in topics)


def _overload(state: State) -> Cause | None:
    if state.must_hold:
        return None
    limit = state.capacity_bytes_per_s * state.rules.controller.trigger
    overloaded = [consumer for consumer, load in loads(state).items() if load > limit * (1 + 1e-9)]
    relieved = (c for c in overloaded if state.consumers[c].phase is not Phase.ROLLING)
    return Cause.OVERLOAD if any(consumer not in state.tolerated for consumer in relieved) else None


def _long_since(state: State) -> Cause | None:
    """While somebody is rolling there is no hurry to need fewer: the look that follows has all of them."""
    is_long = state.time_s - state.looked_s >= state.rules.controller.look_every_s
    return Cause.LONG_SINCE if is_long and not state.rolling and not state.must_hold else None


def _outdated(state: State) -> Cause | None:
    return Cause.OUTDATED if roll.is_due(state) and not state.must_hold else None


def _missing(state: State, event: SpeedsMeasured) -> tuple[TopicPartition, ...]:
    """Of all that was ever measured or held, and is still of interest."""
    if state.known <= event.speeds.keys():
        return ()
    lost = state.known - event.speeds.keys()
    return tuple(sorted(partition for partition in lost if state.service_of(partition.topic) is not None))


def _completed(event: SpeedsMeasured, before: SpeedsMeasured, missing: tuple[TopicPartition, ...]) -> SpeedsMeasured:
    known = {partition: before.speeds[partition] for partition in missing if partition in before.speeds}
    return SpeedsMeasured(event.time, Speeds({**event.speeds, **known}), event.records_per_s)
