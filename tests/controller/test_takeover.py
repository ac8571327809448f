"""A consumer crashes: others take over, and its claims are answered."""

from typing import Any

from tests.support.controller_driver import A0, A1, A2, A3, B0, PLAIN, TO_A, Driver, FakeConsumer, create, delete, rules
from tests.support.crashes import claiming, progress

from restow.controller.effects import Send
from restow.controller.transitions import Cause
from restow.model import SortedMapping, TopicPartition
from restow.protocol.messages.commands import StartConsumingCommand
from restow.protocol.messages.consumer_events import StateQueryResponse


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
    full = claiming({1: (A0, A1), 2: (A2, A3)})
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
    full = claiming({1: (A0, A1), 2: (A2, A3)})
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
    mixed = claiming({1: (A0, B0), 2: (A1,)}, speed=10.0, consume={"a": TO_A, "b": PLAIN}, least_consumers=2)
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
