"""The checkers of what people ask for: pins hold until they end, and a restart happens once.

PinsHold       a plan moves a pinned partition, or a pin is dropped without a reason, or outlives its time
RestartedOnce  a consumer is restarted twice for one record, or a process that people wanted replaced still runs
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from restow.controller.effects import Effect, Moved
from restow.controller.events import Event, Received, ServiceChanged
from restow.controller.state import State
from restow.controller.transitions import Phase, Stage
from restow.model import ConsumerId, TopicPartition
from restow.platform.interface import PlatformRequest, RestartConsumer
from restow.protocol.checks import utc_s
from restow.protocol.messages.consumer_events import ConsumingRefused
from restow.protocol.messages.desired import ConsumerRestart, PartitionPin

if TYPE_CHECKING:
    from restow.simulator.controller import ControllerProcess
    from restow.simulator.world import World

OVER_S: Final = 3.0
"""A controller ticks every second; a pin that is over for longer must be gone."""
DONE_WITHIN_S: Final = 400.0
"""Without faults, every restart that was asked for is done by then."""


class PinsHold:
    def __init__(self, report: Callable[[int, str], None]) -> None:
        self._report = report

    def stepped(self, before: State, event: Event, after: State, effects: tuple[Effect, ...]) -> None:
        if not before.desired.pins and not after.desired.pins:
            return
        self._check_plan(after, effects)
        for partition, pin in before.desired.taken_pins.items():
            if after.desired.pins.get(partition) is not pin and not _may_end(event, after, pin):
                self._report(4, f"the pin of {partition} to consumer {pin.consumer} is dropped without a reason")
        for partition, pin in after.desired.taken_pins.items():
            if pin.until is not None and after.utc_s is not None and after.utc_s >= utc_s(pin.until) + OVER_S:
                self._report(4, f"the pin of {partition} was over at {pin.until} and still binds")

    def _check_plan(self, state: State, effects: tuple[Effect, ...]) -> None:
        """A plan was made: it has every pinned partition on its consumer, if that is ready."""
        has_plan = any(isinstance(effect, Moved) and effect.target is Stage.MANAGE for effect in effects)
        if not has_plan or state.target is None:
            return
        for partition, pin in state.desired.taken_pins.items():
            view = None if pin.consumer is None else state.consumers.get(pin.consumer)
            is_ready = view is not None and view.phase is Phase.READY and not view.is_late
            if is_ready and partition in state.target and state.target[partition] != pin.consumer:
                wrong = state.target[partition]
                self._report(4, f"{partition} is pinned to consumer {pin.consumer}, and a plan has it on {wrong}")


def _may_end(event: Event, after: State, pin: PartitionPin) -> bool:
    if isinstance(event, ServiceChanged):
        record = event.update
        if isinstance(record, PartitionPin) and record.partition == pin.partition:
            return True
    if pin.until is None or pin.consumer is None or after.utc_s is None or after.utc_s >= utc_s(pin.until):
        return True
    if after.service_of(pin.partition.topic) is None:
        return True
    view = after.consumers.get(pin.consumer)
    if view is None or view.phase in (Phase.LEAVING, Phase.LOST, Phase.AWAITED):  # gone, and created again at once
        return True
    if pin.partition in after.suspects and pin.partition not in view.may_hold:  # another crashed on it again and again
        return True
    return isinstance(event, Received) and any(
        isinstance(heard.message, ConsumingRefused) and _refuses(heard.message, pin.consumer, pin.partition)
        for heard in event.heard
    )


def _refuses(message: ConsumingRefused, consumer: ConsumerId, partition: TopicPartition) -> bool:
    return message.consumer == consumer and partition in message.partitions


class RestartedOnce:
    def __init__(self, report: Callable[[int, str], None]) -> None:
        self._report = report
        self._asked: dict[ConsumerId, tuple[ConsumerRestart, float]] = {}
        """The newest of each consumer, and when it was written."""
        self._named: set[tuple[ConsumerId, int | None]] = set()
        """Each consumer and incarnation of which a record has asked for a restart."""

    def asked(self, record: ConsumerRestart, now_s: float) -> None:
        self._asked[record.consumer] = (record, now_s)
        self._named.add((record.consumer, record.up_to))

    def requested(self, controller: "ControllerProcess", request: PlatformRequest) -> None:
        """The process that the controller knows must be one that a record names; a later record may replace that one
        before the platform is asked. A controller that hung since its decision and was replaced is not checked."""
        view = controller.state.consumers.get(request.consumer)
        is_asked = isinstance(request, RestartConsumer) and view is not None and view.phase is Phase.ROLLING
        is_in_charge = controller is controller.world.controller_in_charge()
        if view is None or not is_asked or not view.is_asked or not is_in_charge:
            return
        if (request.consumer, view.incarnation) not in self._named:
            words = f"consumer {request.consumer} is restarted at incarnation {view.incarnation}, which no record names"
            self._report(4, words)

    def end(self, world: "World") -> None:
        """A held group creates no consumer, which a halted roll waits for, and so does a restart."""
        controller = world.controller_in_charge()
        if controller is not None and controller.state.only_recovers and controller.state.roll_halted:
            return
        for process in world.processes:
            record, asked_s = self._asked.get(process.number, (None, 0.0))
            if record is None or record.up_to is None or process.incarnation is None:
                continue
            is_ours = process.is_alive and not process.is_disowned and not process.is_foreign
            is_late = world.agenda.now_s - asked_s > DONE_WITHIN_S
            if is_ours and is_late and process.incarnation == record.up_to:
                self._report(4, f"consumer {process.number} still runs incarnation {record.up_to}, to be restarted")
