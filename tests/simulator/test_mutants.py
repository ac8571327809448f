"""Bugs that are put into the machines are caught within ten seeds, rare ones within forty."""

from collections.abc import Iterable

import pytest
from tests.support.simulator import mutants
from tests.support.simulator.mutants import Mutant

from restow.packing import warm_up
from restow.simulator.checkers.progress import Runaway
from restow.simulator.scenario import Level, scenario
from restow.simulator.world import World, run

SEEDS = range(1, 11)

MUTANTS: dict[Mutant, int] = {
    mutants.only_the_last_command_is_remembered: 2,
    mutants.an_unanswered_start_is_no_claim: 2,
    mutants.a_start_does_not_wait_for_the_stop: 5,
    mutants.a_number_is_free_before_its_owner_is_gone: 7,
    mutants.every_sink_is_believed_to_refuse_late_writes: 33,
    mutants.nonsense_is_believed: 2,
    mutants.a_part_of_a_measurement_is_taken_for_the_whole: 3,
    mutants.messages_of_another_group_are_obeyed: 1,
    mutants.an_old_epoch_is_obeyed: 1,
    mutants.commands_to_another_incarnation_are_obeyed: 9,
    mutants.a_repeated_command_is_applied_again: 1,
    mutants.a_stop_reports_an_offset_too_many: 1,
    mutants.partitions_lost_to_another_consumer_are_kept: 9,
    mutants.two_consumers_are_rolled_at_once: 2,
    mutants.a_new_controller_does_not_learn_the_consumers_settings: 10,
    mutants.bad_settings_are_tried_with_one_consumer_after_the_other: 38,
    mutants.a_failure_is_never_forgotten: 1,
    mutants.a_late_consumer_is_deleted_although_too_few_are_left: 10,
    mutants.broken_code_is_rolled_out_all_the_same: 1,
    mutants.changed_code_counts_only_at_the_start: 10,
    mutants.a_second_controller_does_not_wait: 9,
    mutants.a_standby_counts_the_time_in_which_it_could_hear_nothing: 26,
    mutants.consumers_elsewhere_hold_nothing_up: 9,
    mutants.consumers_elsewhere_are_taken_for_ours: 8,
    mutants.a_pause_holds_recovery_up_too: 5,
    mutants.a_pause_does_not_expire: 8,
    mutants.recommendations_are_carried_out: 8,
    mutants.plans_ignore_pins: 8,
    mutants.a_pin_outlives_its_time: 9,
    mutants.a_pin_ends_with_a_restart_of_its_consumer: 9,
    mutants.a_restart_is_an_act: 1,
    mutants.a_restart_is_never_carried_out: 9,
    mutants.the_speeds_of_the_last_minutes_are_forgotten: 4,
    mutants.no_cool_down_is_kept: 7,
    mutants.a_parked_group_is_never_woken: 18,
    mutants.claims_are_resumed_unasked: 3,
    mutants.a_claim_is_taken_for_a_holding: 4,
    mutants.unprotected_claims_are_resumed_too: 3,
    mutants.claims_are_never_resumed: 6,
    mutants.what_no_table_protects_is_taken_over: 3,
    mutants.poison_travels: 12,
    mutants.a_schedule_holds_nothing: 25,
    mutants.windows_never_open: 2,
    mutants.a_rise_is_predicted_without_one: 2,
}
"""Each with the seed that caught it soonest, which is tried first. If it no longer does, the others are tried."""


MANY, SOME = Level.MANY, Level.SOME
RARE: dict[Mutant, tuple[Level, range]] = {
    mutants.every_sink_is_believed_to_refuse_late_writes: (MANY, range(25, 65)),
    mutants.bad_settings_are_tried_with_one_consumer_after_the_other: (MANY, range(35, 75)),
    mutants.a_standby_counts_the_time_in_which_it_could_hear_nothing: (MANY, range(25, 65)),
    mutants.a_schedule_holds_nothing: (MANY, range(18, 58)),
    mutants.poison_travels: (MANY, range(10, 50)),
    mutants.a_parked_group_is_never_woken: (SOME, range(14, 54)),
}
"""Bugs that need more seeds, or fewer faults. Standbys seldom hear nothing for long. One schedule in three holds the
group. A group with many faults is hardly ever quiet for so long that it is parked, and then gets records again."""

QUICK: list[Mutant] = list(MUTANTS)[:2]
"""A sample for `make quick`."""


@pytest.fixture(autouse=True)
def runs_end_at_the_first_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    report = World.violated

    def violated(self: World, line: int, words: str) -> None:
        report(self, line, words)
        raise Runaway

    monkeypatch.setattr(World, "violated", violated)


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
    assert first_violation(sorted(seeds, key=lambda seed: seed != MUTANTS[mutant]), faults) is not None


@pytest.mark.slow
def test_without_a_bug_these_seeds_are_well() -> None:
    """And so is the one at which each search for a rare bug begins. test_seeds_first.py runs that with fewer faults."""
    rare = {MUTANTS[mutant] for mutant, (faults, _) in RARE.items() if faults is MANY}
    assert first_violation(sorted({*SEEDS, *rare})) is None
