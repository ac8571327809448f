"""Whether a pin can be taken, and whether one that was taken has ended, in words for the person who wrote it."""

from functools import lru_cache
from typing import Final

from restow.controller.load import Loads
from restow.controller.state import State
from restow.controller.transitions import Phase
from restow.model import ConsumerId
from restow.protocol.checks import utc_s
from restow.protocol.messages.desired import PartitionPin
from restow.text import clock, percent

NOT_READY: Final = {
    Phase.ASKED: "has not reported what it holds",
    Phase.AWAITED: "is starting",
    Phase.RESTARTED: "is restarting",
    Phase.CRASHED: "has crashed and is restarting",
    Phase.ROLLING: "is restarting",
    Phase.LEAVING: "is leaving",
    Phase.LOST: "was given up",
}
CRASHES: Final = "consumers crashed twice within 10 min while they read it, so no other gets it (see the flag)"


def refusal(state: State, pin: PartitionPin) -> str | None:
    """Why the pin can't be taken, and what would help; None if it can, as far as is known: stale speeds don't say
    whether the consumer has room."""
    consumer, partition = consumer_of(pin), pin.partition
    view = state.consumers.get(consumer)
    if is_over(state, pin):
        return f"its time was over at {clock(until_of(pin))}"
    if state.service_of(partition.topic) is None:
        return f"the group does not consume {partition.topic}"
    if partition not in state.known:
        return f"{partition} is not known; the monitor has not measured it"
    if view is None:
        return no_such_consumer(state, consumer)
    if state.target is not None and consumer not in state.target.consumers and view.phase is Phase.READY:
        return f"consumer {consumer} is being closed"
    if is_there(state, pin):
        return None
    if _belongs_to_another(state, pin):
        return CRASHES
    if view.phase is not Phase.READY:
        return f"consumer {consumer} {NOT_READY[view.phase]}; move the partition when it is ready"
    return None if state.is_scaling_frozen else _overload(state, pin)


def no_such_consumer(state: State, consumer: ConsumerId) -> str:
    there = ", ".join(str(number) for number in state.consumers) or "none"
    return f"there is no consumer {consumer}; the group has {there}"


def end_of(state: State, pin: PartitionPin) -> str | None:
    """Why a pin that was taken ends now; None if it doesn't."""
    consumer = consumer_of(pin)
    view = state.consumers.get(consumer)
    if is_over(state, pin):
        return "its time is over"
    if view is None:
        return f"consumer {consumer} is gone"
    if view.phase in (Phase.LEAVING, Phase.LOST):
        return f"consumer {consumer} {NOT_READY[view.phase]}"
    if state.service_of(pin.partition.topic) is None:
        return f"the group does not consume {pin.partition.topic} any more"
    if _belongs_to_another(state, pin):
        return CRASHES
    return None


def is_over(state: State, pin: PartitionPin) -> bool:
    return state.utc_s is not None and state.utc_s >= _seconds(until_of(pin))


def is_there(state: State, pin: PartitionPin) -> bool:
    """Whether its consumer reads the partition, or did before a restart for which the partition waits."""
    view = state.consumers.get(consumer_of(pin))
    if view is None or view.phase in (Phase.LEAVING, Phase.LOST):
        return False
    return pin.partition in view.may_hold or pin.partition in view.held_before_roll | view.claims


def _belongs_to_another(state: State, pin: PartitionPin) -> bool:
    """Whether the partition is a suspect, and another consumer reads it or crashed on it last (poison.py)."""
    crash = state.crashes.get(pin.partition)
    is_own = is_there(state, pin) or (crash is not None and crash.consumer == pin.consumer)
    return pin.partition in state.suspects and not is_own


def consumer_of(pin: PartitionPin) -> ConsumerId:
    assert pin.consumer is not None, "the state has no pins without a consumer"
    return pin.consumer


def until_of(pin: PartitionPin) -> str:
    assert pin.until is not None, "a pin with a consumer has an end"
    return pin.until


def _overload(state: State, pin: PartitionPin) -> str | None:
    """Other pins of the consumer count, also where their partitions have yet to move there."""
    consumer = consumer_of(pin)
    others = {p for p, other in state.desired.taken_pins.items() if other.consumer == consumer}
    each, held = Loads(state), state.consumers[consumer].may_hold
    after = sum(each.of(partition) for partition in sorted({*held, *others, pin.partition}))
    share, limit = after / each.capacities[consumer], state.rules.controller.trigger
    if share <= limit * (1 + 1e-9):
        return None
    return f"consumer {consumer} would be at {percent(share)} of its capacity, above the limit of {percent(limit)}"


@lru_cache(maxsize=1024)
def _seconds(until: str) -> float:
    """Cached, because every event asks for every pin."""
    return utc_s(until)
