"""Many seeds, one after the other: what the files test_seeds_*.py share, each of which runs in a process of its own."""

from collections.abc import Iterable
from typing import get_args

from restow.consumer import effects as consumer_effects
from restow.consumer import events as consumer_events
from restow.controller import effects as controller_effects
from restow.controller import events as controller_events
from restow.controller.holds import PAUSED, RECOMMEND
from restow.controller.schedules import SCHEDULE
from restow.controller.transitions import PHASES, TRANSITIONS, Phase
from restow.packing import warm_up
from restow.protocol.messages.consumer_events import Refusal
from restow.simulator.coverage import Coverage
from restow.simulator.crises import Crisis
from restow.simulator.faults.kinds import Fault
from restow.simulator.monitor import NONSENSE
from restow.simulator.orders import Order
from restow.simulator.people import Ask
from restow.simulator.scenario import Level, scenario
from restow.simulator.world import run

LEAST_FAULTS = 20
HOURS = 0.5
RARE: frozenset[tuple[Phase | None, Phase | None]] = frozenset(
    [(Phase.CRASHED, None), (Phase.CRASHED, Phase.LOST), (Phase.READY, Phase.LOST), (Phase.AWAITED, None)]
)
"""Each occurs in at most one seed of fifty, and has tests of its own in tests/controller: a crashed consumer is seldom
deleted by another person, or does not come back, before others have its partitions; no one deletes a new one."""


def run_all(seeds: Iterable[int]) -> Coverage:
    """Every seed must be well; gives what has occurred in all of them."""
    warm_up()
    occurred = Coverage()
    for seed in seeds:
        outcome = run(scenario(seed, HOURS, faults=Level.SOME))
        assert outcome.violations == (), f"to repeat it: restow simulate --seed {seed} --faults some"
        assert sum(outcome.coverage.faults.values()) >= LEAST_FAULTS
        occurred.add(outcome.coverage)
    return occurred


def assert_everything_occurred(occurred: Coverage) -> None:
    """A search that never met something has not tried it."""
    assert occurred.controller_events == set(get_args(controller_events.Event))
    assert occurred.controller_effects == set(get_args(controller_effects.Effect))
    assert occurred.consumer_events == set(get_args(consumer_events.Event))
    assert occurred.consumer_effects == set(get_args(consumer_effects.Effect))
    assert occurred.transitions == TRANSITIONS
    assert PHASES - RARE <= occurred.phases <= PHASES
    assert set(occurred.faults) == {each.name for each in (*Fault, *Order, *Crisis)}
    assert occurred.claims == {"granted", "denied", "resumed"}
    assert occurred.suspects == {"flag", "cleared"}
    assert occurred.refusals == set(get_args(Refusal))
    assert occurred.nonsense == set(NONSENSE)
    assert occurred.measurements == {"in parts", "incomplete"}
    assert occurred.failing_topics == {"flag", "cleared"}
    assert occurred.stuck_partitions == {"flag", "cleared"}
    assert set(occurred.asks) == {ask.name for ask in Ask}
    assert occurred.answers >= {
        (name, taken) for name in ("PartitionPin", "ConsumerRestart") for taken in (True, False)
    }
    assert occurred.holds == {(hold, kind) for hold in (PAUSED, RECOMMEND, SCHEDULE) for kind in ("flag", "cleared")}
