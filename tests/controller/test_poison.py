"""Consumers crash on a partition: it becomes a suspect, and stays where it is."""

from dataclasses import replace

import pytest
from tests.support.controller_driver import A0, A1, A2, A3, B0, Driver, restart
from tests.support.crashes import claiming, progress

from restow.controller.effects import Send
from restow.controller.poison import SUSPECTS
from restow.model import ConsumerId
from restow.protocol.messages.commands import StateQuery
from restow.protocol.messages.desired import ConsumerRestart, PartitionPin

UNTIL = "2026-03-01T13:00:00Z"


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
    full = claiming({1: (A0, A1), 2: (A2, A3)})
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
