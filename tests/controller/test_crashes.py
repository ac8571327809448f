"""A consumer crashes: others take over, claims are answered, and poison stays where it is."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.support.controller_driver import (
    A0,
    A1,
    A2,
    A3,
    B0,
    PLAIN,
    TO_A,
    TO_B,
    Driver,
    FakeConsumer,
    create,
    delete,
    restart,
    rules,
)

from restow.controller.effects import Send
from restow.controller.poison import SUSPECTS
from restow.controller.transitions import Cause
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.messages.commands import StartConsumingCommand, StateQuery
from restow.protocol.messages.consumer_events import StateQueryResponse
from restow.protocol.messages.desired import ConsumerRestart, PartitionPin
from restow.protocol.topic_service import TopicService

UNTIL = "2026-03-01T13:00:00Z"


def group(
    holding: Mapping[int, tuple[TopicPartition, ...]],
    speed: float = 40.0,
    consume: Mapping[str, TopicService] | None = None,
    **controller: Any,
) -> Driver:
    """Consumers that know claims, in Sentinel; every partition has this speed, of a capacity of 100."""
    driver = Driver(rules(consume or {"a": TO_A, "b": TO_B}, **controller)).takes_over(holding)
    driver.measures(None, **{str(p).replace("-", "_"): speed for held in holding.values() for p in held})
    for consumer in holding:
        driver.fakes[consumer].will_claim = True
        driver.reports(consumer)
    assert driver.is_calm
    return driver


@pytest.fixture
def roomy() -> Driver:
    """Consumers 1 and 2 have two partitions each, consumer 3 has one; all of them at 20 of 100."""
    return group({1: (A0, A1), 2: (A2, A3), 3: (B0,)}, speed=20.0, least_consumers=3)


@pytest.fixture
def suspected(roomy: Driver) -> Driver:
    """Consumers 1 and 3 have crashed on a-0 and are back. Consumer 3 reads it, consumer 1 has nothing."""
    roomy.crashes(1)
    roomy.answers()
    roomy.claims(1, A0, A1)
    roomy.settles()
    roomy.crashes(3)
    roomy.answers()
    roomy.claims(3, A0, B0)
    roomy.settles()
    return roomy


def progress(driver: Driver, consumer: int, offset: int, **changes: Any) -> None:
    driver.reports(
        consumer,
        next_offsets=SortedMapping(dict.fromkeys(driver.fakes[consumer].held, offset)),
        **changes,
    )


def returns_quickly(roomy: Driver) -> None:
    """Consumer 1 crashes five times, and is back after 0.2 s each time. Consumer 3 got a-0 at the first."""
    for _ in range(5):
        roomy.crashes(1)
        roomy.ticks(0.2)
        roomy.claims(1, A0, A1)
        roomy.ticks(0.8)
        roomy.settles()
        for consumer in (1, 2, 3):
            progress(roomy, consumer, roomy.offset)


# Takeover.


def test_consumers_with_room_get_the_partitions_at_once(roomy: Driver) -> None:
    sent = roomy.crashes(1)
    assert sent == (roomy.granting(2, 1, a_1="recover"), roomy.granting(3, 1, a_0="recover"))
    assert roomy.phases == {1: "crashed", 2: "ready", 3: "ready"}
    assert roomy.words[0] == "consumer 1: crashed: killed; others take over 2 partitions of 2"
    assert Cause.CRASHED in roomy.causes


def test_one_that_is_back_is_a_consumer_with_room_like_any_other(roomy: Driver) -> None:
    roomy.crashes(1)
    roomy.answers()
    assert roomy.claims(1, A0, A1) == (roomy.stop(1, 1, A0, A1),)
    assert roomy.answers(1) == ()
    assert roomy.waits(30) == ()
    assert roomy.held == {1: (), 2: (A1, A2, A3), 3: (A0, B0)}
    assert roomy.is_calm


def test_a_claim_that_crosses_the_takeover_is_denied(roomy: Driver) -> None:
    roomy.crashes(1)
    assert roomy.claims(1, A0, A1) == (roomy.stop(1, 1, A0, A1),)
    roomy.settles()
    assert roomy.held == {1: (), 2: (A1, A2, A3), 3: (A0, B0)}


def test_without_room_the_partitions_wait_for_the_restart_and_are_granted() -> None:
    full = group({1: (A0, A1), 2: (A2, A3)})
    assert full.crashes(1) == ()
    assert full.phases == {1: "restarted", 2: "ready"}
    assert full.claims(1, A0, A1) == (full.granting(1, 1, a_0="recover", a_1="recover"),)
    full.settles()
    assert full.held == {1: (A0, A1), 2: (A2, A3)}
    assert full.is_calm


def test_a_restart_that_takes_no_longer_than_a_takeover_is_waited_for(roomy: Driver) -> None:
    returns_quickly(roomy)
    assert roomy.crashes(3) == ()
    assert roomy.phases[3] == "restarted"
    assert roomy.ticks(0.4) == ()
    assert roomy.phases[3] == "restarted"


def test_others_take_over_when_a_short_restart_is_late(roomy: Driver) -> None:
    returns_quickly(roomy)
    roomy.crashes(3)
    assert roomy.ticks(0.4) == ()
    [sent] = roomy.ticks(0.2)
    assert isinstance(sent, Send)
    assert isinstance(sent.message, StartConsumingCommand)
    assert (sent.consumer, tuple(sent.message.partitions)) == (1, (A0, B0))
    assert roomy.phases[3] == "crashed"
    assert roomy.words[0] == "consumer 3: not back 0.6 s after its crash; others take over 2 partitions of 2"


def test_a_late_consumer_without_room_elsewhere_is_waited_for_until_there_is_some() -> None:
    full = group({1: (A0, A1), 2: (A2, A3)})
    full.crashes(1)
    full.waits(14)
    assert full.phases[1] == "restarted"
    full.measures(None, a_0=10.0, a_1=10.0, a_2=10.0, a_3=10.0)
    assert full.ticks(1.0) == (full.granting(2, 1, a_0="recover", a_1="recover"),)
    assert full.phases[1] == "crashed"


def test_a_consumer_that_still_reports_is_not_late(roomy: Driver) -> None:
    returns_quickly(roomy)
    fake = roomy.fakes[3]
    roomy.crashes(3)
    roomy.fakes[3] = fake
    roomy.ticks(0.4)
    roomy.reports(3)
    assert roomy.ticks(1.5) == ()
    assert roomy.phases[3] == "restarted"


def test_what_no_table_protects_waits_for_the_claim() -> None:
    mixed = group({1: (A0, B0), 2: (A1,)}, speed=10.0, consume={"a": TO_A, "b": PLAIN}, least_consumers=2)
    assert mixed.crashes(1) == (mixed.granting(2, 1, a_0="recover"),)
    mixed.answers()
    assert mixed.waits(10) == ()
    sent = mixed.claims(1, A0, B0)
    assert sent == (mixed.granting(1, 1, b_0="recover"), mixed.stop(1, 2, A0))
    mixed.settles()
    assert mixed.held == {1: (B0,), 2: (A0, A1)}


def test_a_consumer_that_does_not_know_claims_is_waited_for() -> None:
    older = Driver(rules(least_consumers=2)).takes_over({1: (A0,), 2: (A1,)})
    older.measures(a_0=10, a_1=10)
    assert older.crashes(1) == ()
    assert older.phases == {1: "restarted", 2: "ready"}
    assert older.is_ready(1, A0, clean=False) == ()
    assert older.held == {1: (A0,), 2: (A1,)}


def test_one_that_does_not_come_back_is_given_up(roomy: Driver) -> None:
    roomy.crashes(1)
    roomy.answers()
    requests = roomy.waits(180)
    assert delete(1) in requests
    assert roomy.phases[1] == "lost"


def test_one_that_is_deleted_by_somebody_else_is_replaced_if_it_is_needed(roomy: Driver) -> None:
    roomy.crashes(1)
    roomy.answers()
    assert create(1) in roomy.goes(1), "the group must have three"
    assert roomy.held == {2: (A1, A2, A3), 3: (A0, B0)}


def test_a_crash_of_the_process_before_the_one_that_is_ready_changes_nothing(roomy: Driver) -> None:
    roomy.is_ready(1, A0, A1, clean=False)
    fake = roomy.fakes[1]
    assert roomy.crashes(1) == ()
    roomy.fakes[1] = fake
    assert roomy.phases[1] == "ready"


def test_nor_does_a_failed_start_before_it(roomy: Driver) -> None:
    roomy.is_ready(1, A0, A1, clean=False)
    assert roomy.fails(1) == ()
    assert roomy.phases[1] == "ready"


def test_one_that_still_reports_has_not_crashed(roomy: Driver) -> None:
    fake = roomy.fakes[1]
    roomy.crashes(1)
    roomy.answers()
    roomy.fakes[1] = fake
    fake.held.clear()  # its tables refused its writes
    roomy.waits(19)
    assert roomy.phases[1] == "crashed"
    roomy.waits(6)
    assert roomy.phases[1] == "ready"


def test_a_new_controller_answers_claims_that_its_predecessor_left() -> None:
    driver = Driver(rules(least_consumers=2))
    driver.starts()
    driver.lists(1, 2)
    driver.fakes = {1: _fake(driver), 2: _fake(driver, A1)}
    driver.answers(2)
    fake = driver.fakes[1]
    empty: SortedMapping[Any, Any] = SortedMapping()
    claim = StateQueryResponse(1, fake.incarnation, 7, 1, empty, empty, 0, claims=(A0, A1), will_claim=True)  # type: ignore[arg-type]
    sent = driver.hears(claim)
    assert sent == (driver.granting(1, 1, a_0="recover"), driver.stop(1, 2, A1))


def _fake(driver: Driver, *held: TopicPartition) -> Any:
    return FakeConsumer(driver.next_offset(), dict.fromkeys(held, 10), driver.services_of(held))


# Poison.


def test_a_partition_whose_consumers_crashed_twice_stays_with_its_own(roomy: Driver) -> None:
    roomy.crashes(1)
    roomy.answers()
    assert roomy.held == {2: (A1, A2, A3), 3: (A0, B0)}
    sent = roomy.crashes(3)
    assert sent == (roomy.granting(2, 2, b_0="recover"),), "a-0 has crashed two"
    assert roomy.flags[SUSPECTS].startswith("a-0: consumers crashed twice within 10 min")
    roomy.answers()
    sent = roomy.claims(3, A0, B0)
    assert sent == (roomy.granting(3, 2, A0, a_0="recover"), roomy.stop(3, 3, B0))
    roomy.settles()
    assert roomy.held[3] == (A0,)
    progress(roomy, 3, 5, suspects=(A0,))
    assert SUSPECTS in roomy.flags
    progress(roomy, 3, 900)
    assert SUSPECTS not in roomy.flags


def test_a_suspect_that_its_consumer_refuses_for_a_while_is_not_handed_to_another(suspected: Driver) -> None:
    del suspected.fakes[3].held[A0]
    suspected.hears(suspected.refused(3, None, A0))
    sent = [each for each in suspected.waits(60) if isinstance(each, Send)]
    commands = [(each.consumer, each.message) for each in sent if not isinstance(each.message, StateQuery)]
    assert {consumer for consumer, command in commands if A0 in command.partitions} == {3}, "consumer 1 has more room"


def test_a_suspect_that_its_consumer_refused_waits_for_its_restart(suspected: Driver) -> None:
    del suspected.fakes[3].held[A0]
    suspected.hears(suspected.refused(3, None, A0))
    suspected.desires(ConsumerRestart(ConsumerId(3), suspected.fakes[3].incarnation, "ann"))
    for consumer in (1, 2, 3):
        suspected.reports(consumer)
    assert restart(3) in suspected.measures()
    sent = [each for each in suspected.waits(40, silent=(3,)) if isinstance(each, Send)]
    assert suspected.phases[3] == "rolling"
    assert not any(A0 in each.message.partitions for each in sent if not isinstance(each.message, StateQuery))


def test_a_person_can_t_move_a_suspect_to_another_consumer(suspected: Driver) -> None:
    pin = PartitionPin(A0, ConsumerId(1), UNTIL, "ann")
    assert [each for each in suspected.desires(pin) if isinstance(each, Send)] == []
    assert "refused: consumers crashed twice within 10 min" in suspected.words[-1]
    suspected.desires(replace(pin, consumer=ConsumerId(3)))
    assert suspected.words[-1].startswith("a-0: stays on consumer 3"), "its own"


def test_a_pin_that_is_not_carried_out_when_its_partition_becomes_a_suspect_ends(roomy: Driver) -> None:
    roomy.crashes(1)
    roomy.answers()
    roomy.claims(1, A0, A1)
    roomy.settles()
    roomy.desires(PartitionPin(A0, ConsumerId(1), UNTIL, "ann"))
    roomy.crashes(3)
    assert "a-0: not pinned any more: consumers crashed twice within 10 min" in " ".join(roomy.words)


def test_a_consumer_that_crashes_before_its_answer_is_read_may_have_crashed_on_the_partition(roomy: Driver) -> None:
    roomy.crashes(1)
    roomy.crashes(3)
    assert roomy.flags[SUSPECTS].startswith("a-0: consumers crashed twice within 10 min")


def test_a_partition_that_was_read_beyond_the_crash_is_no_suspect(roomy: Driver) -> None:
    roomy.crashes(1)
    roomy.answers()
    progress(roomy, 3, 50)
    roomy.crashes(3)
    assert SUSPECTS not in roomy.flags


def test_a_suspect_is_cleared_however_long_it_took(roomy: Driver) -> None:
    roomy.crashes(1)
    roomy.answers()
    roomy.crashes(3)
    roomy.answers()
    roomy.claims(3, A0, B0)
    roomy.settles()
    for _ in range(125):
        roomy.waits(5)
        progress(roomy, 3, 5, suspects=(A0,))
    roomy.crashes(2)
    assert "a-0" in roomy.flags[SUSPECTS]
    progress(roomy, 3, 900)
    assert SUSPECTS not in roomy.flags or "a-0" not in roomy.flags[SUSPECTS]


def test_suspects_that_are_too_fast_for_their_consumer_are_flagged_as_such() -> None:
    full = group({1: (A0, A1), 2: (A2, A3)})
    for _ in range(2):
        full.crashes(1)
        full.claims(1, A0, A1)
        full.settles()
        full.waits(5)
    assert full.state.suspects == {A0, A1}
    full.measures(a_0=70, a_1=70)
    words = "the partitions that consumer 1 crashed on are too fast for it, and stay there until it has read them"
    assert full.flags["too much pinned"] == words


def test_two_crashes_with_more_than_ten_minutes_between_make_no_suspect(roomy: Driver) -> None:
    roomy.crashes(1)
    roomy.answers()
    for _ in range(130):
        roomy.waits(5)
    roomy.crashes(3)
    assert SUSPECTS not in roomy.flags


# Spares.


def test_a_spare_is_kept_and_takes_over_after_a_crash() -> None:
    driver = group({1: (A0, A1)}, spares=1)
    driver.waits(60)
    assert driver.phases == {1: "ready", 2: "awaited"}
    driver.is_ready(2)
    assert driver.is_calm
    driver.ticks()
    sent = driver.crashes(1)
    assert sent == (driver.start(2, 1, a_0="recover", a_1="recover"),)
    driver.answers()
    assert driver.claims(1, A0, A1) == (driver.stop(1, 1, A0, A1),)
    driver.settles()
    assert driver.held == {1: (), 2: (A0, A1)}
    assert driver.waits(90) == ()


def test_a_scale_up_takes_the_spare_and_its_successor_starts_when_the_partitions_have_moved() -> None:
    driver = group({1: (A0, A1), 2: ()}, spares=1)
    assert driver.waits(61) == ()
    assert driver.measures(a_0=70, a_1=70) == (driver.stop(1, 1, A0),), "the move begins at once, and nothing else"
    driver.answers()
    assert driver.held == {1: (A1,), 2: (A0,)}
    assert driver.measures(a_0=70, a_1=70) == (create(3),), "not at the next periodic look"
    driver.is_ready(3)
    assert driver.waits(90) == ()
    assert driver.held == {1: (A1,), 2: (A0,), 3: ()}


def test_a_successor_starts_at_once_if_the_moves_wait_for_another_consumer() -> None:
    driver = group({1: (A0, A1, A2), 2: ()}, speed=20.0, spares=1)
    assert driver.waits(61) == ()
    assert driver.measures(a_0=70, a_1=70, a_2=70) == (create(3), create(4))


def test_a_spare_that_cannot_be_created_is_not_asked_for_with_every_measurement() -> None:
    driver = group({1: (A0,), 2: (A1,)}, speed=70.0, spares=1, most_consumers=2)
    assert driver.waits(30) == ()
    assert Cause.PERIODIC not in driver.causes


def test_a_plan_that_is_overtaken_still_uses_the_spare_that_is_ready() -> None:
    driver = group({1: (A0, A1, A2, A3), 2: ()}, speed=10.0, spares=1)
    assert driver.waits(61) == ()
    assert driver.measures(a_0=60, a_1=60, a_2=60, a_3=20) == (create(3), create(4))
    driver.measures(a_0=60, a_1=60, a_2=60, a_3=38)
    assert driver.causes == [Cause.OVERLOAD, Cause.CHANGE]
    assert driver.state.target is not None
    assert {1, 2} < set(driver.state.target.values()), "consumers 3 and 4 are starting"
    for consumer in (3, 4):
        driver.is_ready(consumer)
    driver.settles()
    assert len(driver.held[2]) > 0


def test_the_load_comes_before_spares_within_the_limit() -> None:
    driver = group({1: (A0,), 2: (A1,)}, speed=70.0, spares=2, most_consumers=3)
    driver.waits(61)
    assert sorted(driver.phases) == [1, 2, 3]


def test_a_consumer_that_is_being_closed_counts_towards_the_limit_of_spares() -> None:
    driver = group({1: (A0,), 2: (A1,), 3: ()}, speed=70.0, spares=1, most_consumers=3)
    driver.crashes(1)
    driver.answers()
    assert driver.held == {2: (A1,), 3: (A0,)}
    sent = driver.measures(a_0=10, a_1=10) + driver.waits(90, silent=(1,))
    assert any(isinstance(each, Send) for each in sent), "one of the two is emptied"
    assert create(4) not in sent
