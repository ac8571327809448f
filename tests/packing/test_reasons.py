"""Every reason in words, for plans small enough to follow by hand."""

import pytest

from restow.model import Assignment, Capacities, ConsumerId, Speeds, TopicPartition
from restow.packing import PACKERS, Margins, Problem
from restow.packing.reasons import explain


def held(**consumers: str) -> Assignment:
    """held(c1="a-0 a-1", c2="")"""
    return Assignment.of_consumers(
        {
            ConsumerId(int(name[1:])): [TopicPartition.parse(part) for part in parts.split()]
            for name, parts in consumers.items()
        }
    )


def speeds(**by_topic: list[float]) -> Speeds:
    return Speeds({TopicPartition(topic, i): speed for topic, many in by_topic.items() for i, speed in enumerate(many)})


def words(problem: Problem, following: Assignment) -> list[str]:
    return [reason.words for reason in explain(problem, following)]


def problem(
    current: Assignment, measured: Speeds, *, margins: Margins | None = None, worth: float = 1, least: int = 0
) -> Problem:
    return Problem(measured, current, Capacities(100), worth, margins or Margins(), least_consumers=least)


def test_no_change_needs_no_reason() -> None:
    now = held(c1="a-0", c2="a-1")
    assert words(problem(now, speeds(a=[60, 70])), now) == []


def test_an_overfull_consumer_gives_up_the_lightest_that_suffices() -> None:
    asked = problem(held(c3="a-0 a-1 a-2", c5="b-0"), speeds(a=[52, 40, 12], b=[30]))
    assert words(asked, held(c3="a-0 a-1", c5="a-2 b-0")) == [
        (
            "a-2 goes from consumer 3 to 5: consumer 3 was at 104 % of its capacity; a-2 at 12 % was the lightest that "
            "sufficed; consumer 5 had room (30 % before, 42 % after)"
        )
    ]


def test_what_was_not_the_lightest_is_not_called_so() -> None:
    asked = problem(held(c3="a-0 a-1 a-2", c5="b-0"), speeds(a=[52, 40, 12], b=[30]))
    assert words(asked, held(c3="a-0 a-2", c5="a-1 b-0")) == [
        (
            "a-1 goes from consumer 3 to 5: consumer 3 was at 104 % of its capacity; a-1 at 40 % was given up; "
            "consumer 5 had room (30 % before, 70 % after)"
        )
    ]


def test_two_are_given_up_where_one_does_not_suffice() -> None:
    asked = problem(held(c1="a-0 a-1 a-2", c2="b-0"), speeds(a=[99, 9, 8], b=[30]), margins=Margins(trigger=1.1))
    assert words(asked, held(c1="a-0", c2="a-1 a-2 b-0")) == [
        (
            "a-1 goes from consumer 1 to 2: consumer 1 was at 116 % of its capacity, above its trigger of 110 %; "
            "a-1 at 9 % was given up with 1 more; consumer 2 had room (30 % before, 47 % after)"
        ),
        (
            "a-2 goes from consumer 1 to 2: consumer 1 was at 116 % of its capacity, above its trigger of 110 %; "
            "a-2 at 8 % was given up with 1 more; consumer 2 had room (30 % before, 47 % after)"
        ),
    ]


def test_a_consumer_is_closed_when_that_pays() -> None:
    asked = problem(held(c1="a-0", c2="a-1"), speeds(a=[50, 17.5]))
    assert words(asked, held(c1="a-0 a-1")) == [
        (
            "a-1 goes from consumer 2 to 1: consumer 2, at 17.5 %, is emptied and closed; "
            "consumer 1 had room (50 % before, 67.5 % after)"
        ),
        "consumer 2 is closed: that moves 0.175 of a consumer's capacity, and a consumer is worth 1",
    ]


def test_an_idle_consumer_is_closed_for_nothing() -> None:
    asked = problem(held(c1="a-0", c2=""), speeds(a=[50]))
    assert words(asked, held(c1="a-0")) == ["consumer 2 is closed: it has nothing left to read"]


def test_closing_above_the_worth_is_explained_as_part_of_a_plan() -> None:
    asked = problem(held(c1="a-0", c2="a-1"), speeds(a=[40, 60]), worth=0.5)
    assert words(asked, held(c1="a-0 a-1"))[-1] == (
        "consumer 2 is closed: that moves 0.6 of a consumer's capacity, within a plan that costs the least altogether "
        "(a consumer is worth 0.5)"
    )


def test_a_new_partition_opens_a_consumer() -> None:
    asked = problem(held(c1="a-0"), speeds(a=[90, 30]))
    assert words(asked, held(c1="a-0", c2="a-1")) == [
        "a-1 goes to consumer 2: no consumer had it; consumer 2 is opened (30 % after)",
        "consumer 2 is opened for a-1, 30 % of its capacity",
    ]


def test_one_makes_room_for_another() -> None:
    asked = problem(held(c1="a-0 a-1", c2="b-0 b-1"), speeds(a=[60, 50], b=[45, 30]))
    assert words(asked, held(c1="a-0 b-1", c2="a-1 b-0")) == [
        (
            "a-1 goes from consumer 1 to 2: consumer 1 was at 110 % of its capacity; a-1 at 50 % was the lightest that "
            "sufficed; consumer 2 has room once b-1 left (75 % before, 95 % after)"
        ),
        (
            "b-1 goes from consumer 2 to 1: it makes room on consumer 2 for a-1; "
            "consumer 1 has room once a-1 left (110 % before, 90 % after)"
        ),
    ]


def test_room_may_be_the_reason_itself() -> None:
    asked = problem(held(c1="a-0 a-1", c2="b-0"), speeds(a=[60, 39], b=[5]))
    assert words(asked, held(c1="a-0", c2="a-1 b-0")) == [
        (
            "a-1 goes from consumer 1 to 2: consumer 1 goes from 99 % to 60 % and keeps more room; "
            "consumer 2 had room (5 % before, 44 % after)"
        )
    ]


def test_a_gain_is_shown_by_its_figures_however_small_it_is() -> None:
    asked = problem(held(c1="a-0 a-1", c2="b-0"), speeds(a=[87.36, 0.06], b=[5]))
    assert words(asked, held(c1="a-0", c2="a-1 b-0")) == [
        (
            "a-1 goes from consumer 1 to 2: consumer 1 goes from 87.42 % to 87.36 % and keeps more room; "
            "consumer 2 had room (5 % before, 5.1 % after)"
        )
    ]


@pytest.mark.parametrize("arrived", ["", " c-0"])
def test_no_gain_is_named_where_there_is_none(arrived: str) -> None:
    asked = problem(held(c1="a-0 a-1", c2="b-0"), speeds(a=[87.4, 0], b=[5], c=[2]))
    assert words(asked, held(c1=f"a-0{arrived}", c2=f"a-1 b-0{'' if arrived else ' c-0'}"))[0] == (
        "a-1 goes from consumer 1 to 2: the packer placed it anew; at 0 %, it gives consumer 1 no room; "
        f"consumer 2 had room (5 % before, {5 if arrived else 7} % after)"
    )


def test_an_idle_partition_of_an_overfull_consumer_gives_no_relief() -> None:
    asked = problem(held(c1="a-0 a-1 a-2", c2="b-0"), speeds(a=[60, 50, 0], b=[5]))
    found = words(asked, held(c1="a-0", c2="a-1 a-2 b-0"))
    assert found[1].startswith("a-2 goes from consumer 1 to 2: a-0 has consumer 1 to itself")
    found = words(
        problem(held(c1="a-0 a-1 a-2 a-3", c2="b-0"), speeds(a=[60, 50, 0, 1], b=[5])),
        held(c1="a-0 a-3", c2="a-1 a-2 b-0"),
    )
    assert "at 0 %, it gives consumer 1 no room" in found[1]


def test_a_partition_faster_than_any_consumer_is_alone() -> None:
    assert words(problem(held(c1="b-0"), speeds(a=[130], b=[5])), held(c1="b-0", c2="a-0"))[0] == (
        "a-0 goes to consumer 2: no consumer had it; consumer 2 has it alone, because it is too fast for any (130 %)"
    )


def test_without_room_the_least_bad_consumer_is_named() -> None:
    asked = problem(held(c1="a-0"), speeds(a=[90, 30]))
    assert words(asked, held(c1="a-0 a-1")) == [
        (
            "a-1 goes to consumer 1: no consumer had it; "
            "consumer 1 suffers least, though it is over its limit (120 % after)"
        )
    ]


def test_a_partition_without_interest_is_given_up_and_an_idle_consumer_opened() -> None:
    asked = problem(held(c1="a-0 old-3"), speeds(a=[10]), least=2)
    assert words(asked, held(c1="a-0", c2="")) == [
        "old-3 is no longer of interest; consumer 1 stops reading it",
        "consumer 2 is opened, idle, because there must be at least 2",
    ]


def test_many_partitions_are_counted_and_not_named() -> None:
    asked = problem(held(), speeds(a=[1, 2, 3, 4]))
    assert words(asked, held(c1="a-0 a-1 a-2 a-3"))[-1] == "consumer 1 is opened for 4 partitions, 10 % of its capacity"


@pytest.mark.parametrize("packer", sorted(PACKERS))
def test_every_change_of_every_packer_has_its_reason(packer: str) -> None:
    now = held(c1="a-0 a-1 a-2", c2="b-0 b-1", c3="c-0", c9="gone-0")
    plan = PACKERS[packer](problem(now, speeds(a=[52, 40, 12], b=[46, 30], c=[20, 8])))
    difference = now.difference(plan.assignment)
    placed = sum(len(partitions) for _, partitions in difference.start)
    assert len(plan.reasons) == placed + 1 + len(difference.create) + len(difference.delete)
