"""What the controller would decide now: a picture and the newest measurement in, a plan out, by its own code.

`restow plan` without a file shows it. A picture has less than the controller's state; `state_of` fills in what a plan
depends on and nothing else, so that Reassign's own `decide` packs by the same speeds, margins and limits.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from restow.controller.desired import Desired
from restow.controller.events import SpeedsMeasured
from restow.controller.failures import failing_flag
from restow.controller.learned import Learned
from restow.controller.reassign import WORTH_SAYING, decide
from restow.controller.state import NoGain, Pause, Rules, State, View
from restow.controller.transitions import Phase, Stage
from restow.errors import RestowError
from restow.model import ConsumerId, SortedMapping, Speeds, TopicPartition
from restow.packing import DEFAULT_PACKER, PackingPlan
from restow.picture.picture import ConsumerStatus, Overview, Picture
from restow.protocol.measurement import Measurement
from restow.protocol.messages.desired import PartitionPin
from restow.protocol.messages.reports import ConsumerReport
from restow.protocol.topic_service import TopicService
from restow.settings import Consumer, Controller
from restow.text import counted, listed

NOW_S: Final = 1e6
"""The present on the clock of the made-up state: later than any of its timeouts."""
ANY_SERVICE: Final = TopicService()
"""A plan depends on whether a topic is consumed and what its bytes cost, not on the rest of its definition."""


def forecast(
    picture: Picture,
    measured: Measurement | None,
    previous: Measurement | None = None,
    packer: str = DEFAULT_PACKER,
) -> PackingPlan:
    """`measured` is the newest measurement, if it is not stale; without it the picture's speeds count, and nothing is
    scaled. `previous` is the measurement of the last plan. Raises RestowError if there is nothing to plan."""
    state = state_of(picture, measured, previous)
    state = replace(state, rules=replace(state.rules, packer=packer))
    if not picture.partitions:
        raise RestowError(f"nothing to plan: group {picture.overview.group} has no partitions to read yet")
    if not state.can_have_consumers:
        raise RestowError(
            f"nothing to plan: group {picture.overview.group} has no consumer that can be given partitions, and none "
            "can be created now; `restow status` says what the controller waits for"
        )
    return decide(state)


def caveats(picture: Picture, *, is_stale: bool) -> Iterator[str]:
    """What a reader of the plan should know, in sentences."""
    overview = picture.overview
    if is_stale:
        yield (
            "The speeds are stale, so that nothing is scaled: partitions without a consumer are placed by their last "
            "known speeds, and every consumer stays. Does `restow monitor` run?"
        )
    if overview.limits.capacity_is_learned:
        yield "Capacities are learned from the consumers' cycles." + _costs_in_words(overview)
    if overview.paused is not None:
        until = "until it is resumed" if overview.paused.until is None else f"until {overview.paused.until}"
        yield f"The group is paused {until}; until then only partitions without a consumer are placed."
    if overview.recommend_only is not None:
        yield "The controller only recommends: of this plan only partitions without a consumer are placed."
    if overview.closing_waits is not None:
        yield f"Of this plan, closing consumers waits: {overview.closing_waits}."
    elif overview.limits.close_after_s:
        yield (
            "Consumers are closed only if the others could have carried their partitions for the last "
            f"{overview.limits.close_after_s:g} s; this plan goes by the speeds of this moment."
        )
    if overview.stage is Stage.MANAGE:
        yield (
            "The controller is carrying out its last decision; the plan starts from what consumers hold at this moment."
        )
    if overview.stage is Stage.SYNCHRONIZE:
        yield "The controller is still asking consumers what they hold, and decides nothing until it knows."
    rolling = [number for number, status in picture.consumers.items() if status.phase is Phase.ROLLING]
    if rolling:
        waiting = sum(status.waits_for is not None for status in picture.partitions.values())
        names, left_out = listed(rolling, "consumer"), counted(waiting, "partition")
        yield f"Consumer {names} restarts; {left_out} that wait for it are left out."
    refused = [partition for partition, status in picture.partitions.items() if status.refused_for_s is not None]
    if refused:
        yield f"Refused lately, and tried again after a pause: {listed(refused)}."


def _costs_in_words(overview: Overview) -> str:
    costs = {topic: each.cost for topic, each in overview.costs.items()} | dict(overview.fixed_costs)
    apart = [f"{topic} {cost:.2g}" for topic, cost in costs.items() if abs(cost - 1) >= WORTH_SAYING]
    return f" Costs per byte, relative to the mean: {', '.join(apart)}; speeds are weighted by them." if apart else ""


def state_of(picture: Picture, measured: Measurement | None, previous: Measurement | None) -> State:
    overview = picture.overview
    limits = overview.limits
    rules = Rules(
        controller=Controller(
            worth=limits.worth,
            moves_by_number=limits.moves_by_number,
            spares=limits.spares,
            trigger=limits.trigger,
            evict_to=limits.evict_to,
            fill_to=limits.fill_to,
            drain_to=limits.drain_to,
            least_consumers=limits.least_consumers,
            most_consumers=limits.most_consumers,
            catch_up_s=limits.catch_up_s,
            close_after_s=0.0,
            cool_down_after_opening_s=0.0,
            cool_down_after_closing_s=0.0,
        ),
        consumer=Consumer(capacity_bytes_per_s=None if limits.capacity_is_learned else limits.capacity_bytes_per_s),
        consume=_services(picture),
    )
    state = State(
        rules,
        stage=overview.stage,
        now_s=NOW_S,
        listened_s=NOW_S,
        known=frozenset(picture.partitions),
        measured=_speeds(picture, measured),
        measured_s=0.0 if measured is None else NOW_S,
        packed=None if previous is None else SpeedsMeasured.from_measurement(previous),
        deadlines_s=SortedMapping(
            {
                partition: NOW_S + status.retention_margin_s
                for partition, status in picture.partitions.items()
                if status.retention_margin_s is not None and status.retention_margin_s < limits.catch_up_s
            }
        ),
        refused=SortedMapping(
            {
                partition: Pause(1, NOW_S + status.refused_for_s)
                for partition, status in picture.partitions.items()
                if status.refused_for_s is not None
            }
        ),
        desired=Desired(
            pins=SortedMapping(
                {
                    partition: PartitionPin(partition, pin.consumer, pin.until, pin.by, pin.at, pin.reason)
                    for partition, pin in overview.pins.items()
                }
            )
        ),
        creation=Pause(1, NOW_S + overview.creation_paused_s) if overview.creation_paused_s else Pause(),
        learned=Learned(
            SortedMapping({c: status.learned for c, status in picture.consumers.items() if status.learned is not None}),
            overview.costs,
        ),
        no_gain=None if limits.most_without_gain is None else NoGain(limits.most_without_gain, 0.0, 0.0, ""),
    )
    return replace(state, consumers=_views(picture, state.fingerprint))


def _services(picture: Picture) -> SortedMapping[str, TopicService]:
    topics, costs = {partition.topic for partition in picture.partitions}, picture.overview.fixed_costs
    return SortedMapping({topic: replace(ANY_SERVICE, cost=costs.get(topic)) for topic in topics})


def _speeds(picture: Picture, measured: Measurement | None) -> SpeedsMeasured | None:
    """The newest speeds. A partition that they lack keeps its last known one, as it does in the controller."""
    known = {
        partition: status.bytes_per_s
        for partition, status in picture.partitions.items()
        if status.bytes_per_s is not None
    }
    if measured is None:
        return SpeedsMeasured(picture.overview.time, Speeds(known)) if known else None
    newest = SpeedsMeasured.from_measurement(measured)
    return replace(newest, speeds=Speeds({**known, **newest.speeds}))


def _views(picture: Picture, fingerprint: str) -> Mapping[ConsumerId, View]:
    held: dict[ConsumerId, set[TopicPartition]] = {}
    waiting: dict[ConsumerId, set[TopicPartition]] = {}
    for partition, status in picture.partitions.items():
        if status.consumer is not None:
            held.setdefault(status.consumer, set()).add(partition)
        if status.waits_for is not None:
            waiting.setdefault(status.waits_for, set()).add(partition)
    for number, consumer in picture.consumers.items():
        if consumer.phase is Phase.ROLLING:  # what it has not let go of yet waits for it too
            waiting.setdefault(number, set()).update(held.get(number, ()))
    return {
        number: View(
            status.phase,
            since_s=NOW_S,
            heard_s=NOW_S,
            held=frozenset(held.get(number, ())),
            has_reported_holdings=status.phase not in (Phase.ASKED, Phase.LOST),
            report=_report(picture, number, status, held.get(number, set())),
            settings=status.settings if status.outdated else fingerprint,
            held_before_roll=frozenset(waiting.get(number, ())),
        )
        for number, status in picture.consumers.items()
    }


def _report(
    picture: Picture, consumer: ConsumerId, status: ConsumerStatus, held: set[TopicPartition]
) -> ConsumerReport | None:
    """Its last report, as far as the picture has it: backlogs count as load."""
    if status.records_per_s is None or status.bytes_per_s is None:
        return None
    worked_off = (partition for partition in sorted(held) if _is_worked_off(picture, partition))
    lags = ((partition, picture.partitions[partition].lag) for partition in worked_off)
    return ConsumerReport(
        consumer,
        incarnation=0,
        lag_records=SortedMapping({partition: lag.records for partition, lag in lags if lag is not None}),
        definitions=SortedMapping(),
        records_per_s=status.records_per_s,
        bytes_per_s=status.bytes_per_s,
        saturated=status.saturated,
        cycle_s_mean=0.0,
        cycle_s_max=0.0,
    )


def _is_worked_off(picture: Picture, partition: TopicPartition) -> bool:
    """The backlog of a stuck or failing partition counts as no load."""
    return not picture.partitions[partition].stuck and failing_flag(partition.topic) not in picture.overview.flags
