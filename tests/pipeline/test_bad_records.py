"""Which offsets a cycle leaves out, and how many may be left out in a minute."""

from restow.consumer.planning import Range
from restow.model import TopicPartition
from restow.pipeline.bad_records import Findings, LeftOut, Rate, too_many
from restow.pipeline.sinks import Span

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
RANGES = {A0: Range(10, 10, 100), A1: Range(0, 0, 50)}


def test_a_cycle_reads_what_the_search_covered_and_then_everything() -> None:
    left_out = LeftOut(findings={"t": Findings({A0: Span(10, 40)}, {A0: {12: "no", 39: "no"}})})
    cut = left_out.cut("t", RANGES)
    assert cut == {A0: Range(10, 10, 40)}
    assert left_out.bad("t", cut) == {A0: {12: "no", 39: "no"}}
    assert left_out.cut("another", RANGES) == RANGES
    assert left_out.cut("t", {A0: Range(40, 40, 100), A1: RANGES[A1]}) == {A0: Range(40, 40, 100), A1: RANGES[A1]}
    assert left_out.findings == {}, "the search is done with"


def test_bad_records_before_the_position_are_not_left_out_again() -> None:
    left_out = LeftOut(findings={"t": Findings({A0: Span(10, 40)}, {A0: {12: "no", 39: "no"}})})
    assert left_out.bad("t", {A0: Range(20, 20, 40)}) == {A0: {39: "no"}}


def test_what_was_rejected_before_a_crash_is_left_out_and_not_rejected_again() -> None:
    left_out = LeftOut(findings={"t": Findings({A0: Span(10, 40)}, {A0: {12: "no", 20: "no"}})})
    left_out.opened("t", [A0, A1], {A0: frozenset({12, 90})})
    assert left_out.rejected_in("t", {A0: Range(10, 10, 40)}) == {A0: frozenset({12})}
    assert left_out.rejected_in("another table of the topic", {A0: Range(10, 10, 40)}) == {}
    assert left_out.bad("t", {A0: Range(10, 10, 40)}) == {A0: {20: "no"}}
    left_out.stored("t", {A0: Range(10, 10, 40)})
    assert left_out.rejected == {"t": {A0: frozenset({90})}}
    left_out.opened("t", [A0], {})
    assert left_out.rejected == {}


def test_the_rate_counts_the_last_minute() -> None:
    rate = Rate()
    rate.add("t", 3, 0.0)
    rate.add("t", 4, 30.0)
    assert [rate.left("t", 10, now_s) for now_s in (30.0, 59.9, 60.0, 90.0)] == [3, 3, 6, 10]
    assert rate.left("another", 10, 0.0) == 10


def test_too_many_bad_records_name_the_first() -> None:
    words = too_many({A1: {3: "no"}, A0: {7: "ValueError: a seven", 9: "no"}}, 1, "the table lake/a")
    assert words.startswith("more than 1 record in a minute can't be stored in the table lake/a")
    assert words.endswith("The first: a-0 at offset 7: ValueError: a seven")
