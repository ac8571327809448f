"""Bugs that were easy to make, each put into a machine by replacing one of its functions."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from restow.consumer import machine as consumer
from restow.consumer.answers import AppliedBatch
from restow.consumer.claims import Claims
from restow.consumer.commands import merge_commands
from restow.consumer.events import CommandRead, CycleEnded
from restow.consumer.state import State as ConsumerState
from restow.consumer.work import WorkWindow
from restow.controller import (
    broken_code,
    capacity,
    claims,
    closing,
    failures,
    foreign,
    gains,
    holds,
    manage,
    parking,
    pin_checks,
    pins,
    poison,
    restarts,
    rise,
    roll,
    schedules,
    sentinel,
    starts,
    synchronize,
)
from restow.controller import machine as controller
from restow.controller.effects import Effect, Send
from restow.controller.events import Event, SpeedsMeasured
from restow.controller.peaks import Peaks
from restow.controller.standby import Standby
from restow.controller.state import Sent, State, View
from restow.controller.transition import Transition
from restow.controller.transitions import Phase
from restow.model import ConsumerId, SortedMapping, Speeds, TopicPartition
from restow.protocol import channels, records
from restow.protocol.field_types import RECOVER, StartFrom
from restow.protocol.measurement_parts import Assembly
from restow.protocol.messages.desired import PartitionPin
from restow.protocol.messages.reports import ConsumerReport
from restow.protocol.messages.unions import Command

Mutant = Callable[[pytest.MonkeyPatch], None]


def only_the_last_command_is_remembered(patch: pytest.MonkeyPatch) -> None:
    def command(transition: Transition, to: ConsumerId, message: Command) -> None:
        sent = Sent(message, transition.state.listened_s, frozenset(message.partitions))
        transition.change(to, sent=(sent,), sequence=message.sequence)
        transition.do(Send(to, message))

    patch.setattr(Transition, "_command", command)


def an_unanswered_start_is_no_claim(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(View, "may_hold", property(lambda view: view.held))


def a_start_does_not_wait_for_the_stop(patch: pytest.MonkeyPatch) -> None:
    starts = manage._starts

    def eager(state: State, missing: manage.Missing, taken: frozenset[TopicPartition]) -> object:
        stopping = {p for view in state.consumers.values() for p in view.may_hold if view.is_stopping(p)}
        return starts(state, missing, taken - stopping)

    patch.setattr(manage, "_starts", eager)


def a_number_is_free_before_its_owner_is_gone(patch: pytest.MonkeyPatch) -> None:
    step = controller.step

    def forgetful(state: State, event: Event) -> tuple[State, tuple[Effect, ...]]:
        after, effects = step(state, event)
        going = (Phase.LEAVING, Phase.LOST)
        kept = {number: view for number, view in after.consumers.items() if view.phase not in going}
        return (after if len(kept) == len(after.consumers) else replace(after, consumers=kept)), effects

    patch.setattr(controller, "step", forgetful)


def every_sink_is_believed_to_refuse_late_writes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(State, "refuses_late_writes", lambda *_: True)


def nonsense_is_believed(patch: pytest.MonkeyPatch) -> None:
    def measure(transition: Transition, event: SpeedsMeasured) -> None:
        transition.learn(event.speeds)
        transition.set(measured=event, measured_s=transition.state.time_s)

    patch.setattr(sentinel, "measure", measure)


def a_part_of_a_measurement_is_taken_for_the_whole(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Assembly, "take", lambda _, part: part.content)


def messages_of_another_group_are_obeyed(patch: pytest.MonkeyPatch) -> None:
    for module in (records, channels):
        patch.setattr(module, "is_foreign", lambda *_: False)


def _reads(patch: pytest.MonkeyPatch, change: Callable[[ConsumerState, CommandRead], CommandRead]) -> None:
    read = consumer._command_read
    patch.setattr(consumer, "_command_read", lambda state, event: read(state, change(state, event)))


def an_old_epoch_is_obeyed(patch: pytest.MonkeyPatch) -> None:
    def renewed(state: ConsumerState, event: CommandRead) -> CommandRead:
        return replace(event, command=replace(event.command, epoch=max(state.epoch, event.command.epoch)))

    _reads(patch, renewed)


def commands_to_another_incarnation_are_obeyed(patch: pytest.MonkeyPatch) -> None:
    def addressed(state: ConsumerState, event: CommandRead) -> CommandRead:
        return replace(event, command=replace(event.command, incarnation=state.incarnation or 0))

    _reads(patch, addressed)


def a_repeated_command_is_applied_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(consumer, "merge_commands", lambda held, topics, waiting, _: merge_commands(held, topics, waiting, 0))


def a_stop_reports_an_offset_too_many(patch: pytest.MonkeyPatch) -> None:
    ended_at = AppliedBatch._ended_at

    def further(outcome: AppliedBatch, partition: TopicPartition, start: StartFrom) -> int | None:
        offset = ended_at(outcome, partition, start)
        return None if offset is None else offset + 1

    patch.setattr(AppliedBatch, "_ended_at", further)


def partitions_lost_to_another_consumer_are_kept(patch: pytest.MonkeyPatch) -> None:
    ended = consumer._cycle_ended
    patch.setattr(consumer, "_cycle_ended", lambda state, event: ended(state, replace(event, dropped=())))


def two_consumers_are_rolled_at_once(patch: pytest.MonkeyPatch) -> None:
    is_healthy = roll._is_healthy
    patch.setattr(roll, "_is_healthy", lambda view: view.phase is Phase.ROLLING or is_healthy(view))


def a_new_controller_does_not_learn_the_consumers_settings(patch: pytest.MonkeyPatch) -> None:
    add = Transition.add
    patch.setattr(synchronize, "_learn_settings", lambda *_: None)
    patch.setattr(
        Transition,
        "add",
        lambda transition, consumer, phase, settings: add(
            transition, consumer, phase, None if phase is Phase.ASKED else settings
        ),
    )


def a_late_consumer_is_deleted_although_too_few_are_left(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(starts, "_is_kept", lambda *_: False)


def bad_settings_are_tried_with_one_consumer_after_the_other(patch: pytest.MonkeyPatch) -> None:
    roll_failed = starts.roll_failed

    def forgetful(transition: Transition, to: ConsumerId, words: str, *why: str) -> None:
        roll_failed(transition, to, words, *why)
        transition.set(roll_halted=False)

    patch.setattr(starts, "roll_failed", forgetful)


def broken_code_is_rolled_out_all_the_same(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(broken_code, "gives_up", lambda *_: False)
    patch.setattr(roll, "regressions", lambda _: ())


def changed_code_counts_only_at_the_start(patch: pytest.MonkeyPatch) -> None:
    change_code = roll.change_code

    def once(transition: Transition, code: str | None) -> None:
        if transition.state.code is None:
            change_code(transition, code)

    patch.setattr(roll, "change_code", once)


def a_failure_is_never_forgotten(patch: pytest.MonkeyPatch) -> None:
    learn = failures.learn

    def remembering(transition: Transition, report: ConsumerReport) -> None:
        before = transition.state.failing
        learn(transition, report)
        transition.set(failing=SortedMapping({**before, **transition.state.failing}))

    patch.setattr(failures, "learn", remembering)


def a_second_controller_does_not_wait(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Standby, "cause", lambda standby, _: "it has started" if standby.has_looked else None)


def a_standby_counts_the_time_in_which_it_could_hear_nothing(patch: pytest.MonkeyPatch) -> None:
    def ticked(standby: Standby, now_s: float, _: bool) -> Standby:
        passed_s = 0.0 if standby.now_s is None else now_s - standby.now_s
        return replace(standby, now_s=now_s, silent_s=standby.silent_s + passed_s, has_looked=True)

    patch.setattr(Standby, "ticked", ticked)


def consumers_elsewhere_hold_nothing_up(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(foreign, "must_wait", lambda _: False)


def consumers_elsewhere_are_taken_for_ours(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(foreign, "platform_of", lambda *_: None)


def a_pause_holds_recovery_up_too(patch: pytest.MonkeyPatch) -> None:
    proceed = controller._proceed

    def idle(transition: Transition, event: Event) -> None:
        if not transition.state.is_paused:
            proceed(transition, event)

    patch.setattr(controller, "_proceed", idle)


def a_pause_does_not_expire(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(holds, "tick", lambda _: None)


def recommendations_are_carried_out(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(State, "only_recovers", property(lambda state: state.is_paused))


def plans_ignore_pins(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pins, "plannable", lambda *_: SortedMapping())


def a_pin_outlives_its_time(patch: pytest.MonkeyPatch) -> None:
    for module in (pins, pin_checks):
        patch.setattr(module, "is_over", lambda *_: False)


def a_pin_ends_with_a_restart_of_its_consumer(patch: pytest.MonkeyPatch) -> None:
    end_of = pin_checks.end_of

    def hasty(state: State, pin: PartitionPin) -> str | None:
        view = state.consumers.get(pin_checks.consumer_of(pin))
        return "it restarts" if view is not None and view.phase is Phase.RESTARTED else end_of(state, pin)

    patch.setattr(pins, "end_of", hasty)


def a_restart_is_an_act(patch: pytest.MonkeyPatch) -> None:
    """Whatever incarnation runs, the record asks for its restart."""

    def asked(state: State) -> tuple[ConsumerId, ...]:
        ready = (number for number, view in state.consumers.items() if view.phase is Phase.READY)
        return tuple(number for number in ready if number in state.desired.restarts)

    patch.setattr(restarts, "asked", asked)


def a_restart_is_never_carried_out(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(restarts, "is_due", lambda _: False)


def capacities_fall_without_a_floor(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(capacity, "LEAST_SHARE", 0.0)


def capacities_rise_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(capacity, "RISE_S", 1e-9)


def cold_cycles_count(patch: pytest.MonkeyPatch) -> None:
    with_cycle = WorkWindow.with_cycle

    def warm(window: WorkWindow, cycle: CycleEnded) -> WorkWindow:
        return with_cycle(window, replace(cycle, is_cold=False))

    patch.setattr(WorkWindow, "with_cycle", warm)


def scale_ups_are_not_judged(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(gains, "begin", lambda *_: None)


def the_speeds_of_the_last_minutes_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    measured = Peaks.measured

    def measured_now(self: Peaks, speeds: Speeds, now_s: float, for_s: float, *, is_fine: bool = True) -> Peaks:
        return replace(measured(Peaks(), speeds, now_s, for_s, is_fine=is_fine), since_s=self.since_s or now_s)

    patch.setattr(Peaks, "measured", measured_now)


def no_cool_down_is_kept(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(closing, "_cool_down_s", lambda _: 0.0)


def a_parked_group_is_never_woken(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(parking, "wake", lambda *_: None)


def a_schedule_holds_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(State, "is_paused", property(lambda state: state.desired.pause is not None))


def windows_never_open(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(schedules, "tick", lambda _: None)


def a_rise_is_predicted_without_one(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(rise, "predicted_factor", lambda _: 1.5)


def claims_are_resumed_unasked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Claims, "ticked", lambda claims, _: replace(claims, is_due=bool(claims.positions)))


def unprotected_claims_are_resumed_too(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Claims, "_resumable", lambda claims, _: SortedMapping(dict.fromkeys(claims.positions, "recover")))


def claims_are_never_resumed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Claims, "ticked", lambda claims, _: claims)


def a_claim_is_taken_for_a_holding(patch: pytest.MonkeyPatch) -> None:
    """What crosses a takeover then has two readers."""

    def learn(transition: Transition, consumer: ConsumerId, partitions: tuple[TopicPartition, ...], _: bool) -> None:
        view = transition.state.consumers[consumer]
        transition.change(consumer, held=view.held.union(partitions))
        if partitions:
            begun: dict[TopicPartition, StartFrom] = dict.fromkeys(sorted(partitions), RECOVER)
            transition.command_start(consumer, SortedMapping(begun))

    patch.setattr(claims, "learn", learn)


def what_no_table_protects_is_taken_over(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(State, "waits_for_restart", lambda *_: False)


def poison_travels(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(poison, "crashed", lambda *_: None)
