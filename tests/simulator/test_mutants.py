"""Bugs that are put into the machines are caught within ten seeds, rare ones within forty."""

from collections.abc import Iterable

import pytest
from tests.support.simulator import mutants
from tests.support.simulator.mutants import Mutant

from restow.packing import warm_up
from restow.simulator.scenario import Level, scenario
from restow.simulator.world import run

SEEDS = range(1, 11)

MUTANTS: list[Mutant] = [
    mutants.only_the_last_command_is_remembered,
    mutants.an_unanswered_start_is_no_claim,
    mutants.a_start_does_not_wait_for_the_stop,
    mutants.a_number_is_free_before_its_owner_is_gone,
    mutants.every_sink_is_believed_to_refuse_late_writes,
    mutants.nonsense_is_believed,
    mutants.a_part_of_a_measurement_is_taken_for_the_whole,
    mutants.messages_of_another_group_are_obeyed,
    mutants.an_old_epoch_is_obeyed,
    mutants.commands_to_another_incarnation_are_obeyed,
    mutants.a_repeated_command_is_applied_again,
    mutants.a_stop_reports_an_offset_too_many,
    mutants.partitions_lost_to_another_consumer_are_kept,
    mutants.two_consumers_are_rolled_at_once,
    mutants.a_new_controller_does_not_learn_the_consumers_settings,
    mutants.bad_settings_are_tried_with_one_consumer_after_the_other,
    mutants.a_failure_is_never_forgotten,
    mutants.a_late_consumer_is_deleted_although_too_few_are_left,
    mutants.broken_code_is_rolled_out_all_the_same,
    mutants.changed_code_counts_only_at_the_start,
    mutants.a_second_controller_does_not_wait,
    mutants.a_standby_counts_the_time_in_which_it_could_hear_nothing,
    mutants.consumers_elsewhere_hold_nothing_up,
    mutants.consumers_elsewhere_are_taken_for_ours,
    mutants.a_pause_holds_recovery_up_too,
    mutants.a_pause_does_not_expire,
    mutants.recommendations_are_carried_out,
    mutants.plans_ignore_pins,
    mutants.a_pin_outlives_its_time,
    mutants.a_pin_ends_with_a_restart_of_its_consumer,
    mutants.a_restart_is_an_act,
    mutants.a_restart_is_never_carried_out,
    mutants.the_speeds_of_the_last_minutes_are_forgotten,
    mutants.no_cool_down_is_kept,
    mutants.a_parked_group_is_never_woken,
    mutants.claims_are_resumed_unasked,
    mutants.a_claim_is_taken_for_a_holding,
    mutants.unprotected_claims_are_resumed_too,
    mutants.claims_are_never_resumed,
    mutants.what_no_table_protects_is_taken_over,
    mutants.poison_travels,
    mutants.a_schedule_holds_nothing,
    mutants.windows_never_open,
    mutants.a_rise_is_predicted_without_one,
]


MANY, SOME = Level.MANY, Level.SOME
RARE: dict[Mutant, tuple[Level, range]] = {
    mutants.every_sink_is_believed_to_refuse_late_writes: (MANY, range(25, 65)),
    mutants.bad_settings_are_tried_with_one_consumer_after_the_other: (MANY, range(35, 75)),
    mutants.a_standby_counts_the_time_in_which_it_could_hear_nothing: (MANY, range(25, 65)),
    mutants.a_schedule_holds_nothing: (MANY, range(18, 58)),
    mutants.what_no_table_protects_is_taken_over: (MANY, range(30, 70)),
    mutants.poison_travels: (MANY, range(10, 50)),
    mutants.a_parked_group_is_never_woken: (SOME, range(14, 54)),
}
"""Bugs that need more seeds, or fewer faults. Standbys seldom hear nothing for long. One schedule in three holds the
group. A consumer with a table that takes late writes seldom crashes where others have room. A group with many faults is
hardly ever quiet for so long that it is parked, and then gets records again."""

QUICK: list[Mutant] = MUTANTS[:2]
"""A sample for `make quick`."""


def first_violation(seeds: Iterable[int], faults: Level = MANY) -> str | None:
    warm_up()
    outcomes = (run(scenario(seed, faults=faults)) for seed in seeds)
    return next((outcome.violations[0] for outcome in outcomes if outcome.violations), None)


@pytest.mark.parametrize(
    "mutant",
    [pytest.param(each, marks=() if each in QUICK else pytest.mark.slow, id=each.__name__) for each in MUTANTS],
)
def test_a_bug_is_caught(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    faults, seeds = RARE.get(mutant, (MANY, SEEDS))
    assert first_violation(seeds, faults) is not None


@pytest.mark.slow
def test_without_a_bug_these_seeds_are_well() -> None:
    """And so is the one at which each search for a rare bug begins."""
    rare = {seeds[0] for faults, seeds in RARE.values() if faults is MANY}
    assert first_violation(sorted({*SEEDS, *rare})) is None
