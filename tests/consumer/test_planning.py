"""Which offsets a cycle reads."""

from hypothesis import given
from hypothesis import strategies as st

from restow.consumer.planning import NEW_AT_ONCE, Backlog, Range, ReadPlan, fetch_bytes, few_new, plan_reads, tasks
from restow.model import SortedMapping, TopicPartition

HOT, COLD, IDLE = (TopicPartition("orders", number) for number in range(3))


@st.composite
def backlogs(draw: st.DrawFn) -> Backlog:
    position = draw(st.integers(0, 10**6))
    first = draw(st.one_of(st.integers(0, position), st.integers(position, position + 1000)))
    end = draw(st.integers(max(first, position), max(first, position) + 10**5))
    return Backlog(position, first, end, draw(st.floats(1.0, 10_000.0)), draw(st.booleans()))


def partitions() -> st.SearchStrategy[dict[TopicPartition, Backlog]]:
    names = st.builds(TopicPartition, st.sampled_from(["orders", "clicks"]), st.integers(0, 40))
    return st.dictionaries(names, backlogs(), max_size=40)


def taken_bytes(waiting: dict[TopicPartition, Backlog], planned: ReadPlan) -> dict[TopicPartition, float]:
    return {p: planned.ranges[p].records * at.record_bytes if p in planned.ranges else 0.0 for p, at in waiting.items()}


def test_a_backlog_within_the_limit_is_read_whole() -> None:
    waiting = {HOT: Backlog(10, 0, 500, 100.0), COLD: Backlog(7, 7, 8, 100.0), IDLE: Backlog(3, 0, 3, 100.0)}
    assert plan_reads(waiting, 1e6) == ReadPlan(
        SortedMapping({HOT: Range(10, 10, 500), COLD: Range(7, 7, 8)}), bytes=49_100.0, is_cut=False
    )


def test_records_that_would_be_deleted_are_read_first() -> None:
    long, endangered = Backlog(900, 0, 1000, 100.0), Backlog(110, 100, 1100, 100.0, is_deleted_from=True)
    assert plan_reads({HOT: long, COLD: endangered}, 8_000.0) == ReadPlan(
        SortedMapping({HOT: Range(900, 900, 920), COLD: Range(110, 110, 170)}), bytes=8_000.0, is_cut=True
    )


def test_what_the_others_don_t_need_goes_to_endangered_partitions() -> None:
    short, endangered = Backlog(990, 0, 1000, 100.0), Backlog(110, 100, 1100, 100.0, is_deleted_from=True)
    assert plan_reads({HOT: short, COLD: endangered}, 8_000.0) == ReadPlan(
        SortedMapping({HOT: Range(990, 990, 1000), COLD: Range(110, 110, 180)}), bytes=8_000.0, is_cut=True
    )


def test_a_partition_is_endangered_if_kafka_deletes_and_most_is_unread() -> None:
    assert Backlog(100, 100, 1100, 1.0, is_deleted_from=True).is_endangered
    assert not Backlog(100, 100, 1100, 1.0).is_endangered  # nothing is deleted: a new group, or no retention
    assert not Backlog(600, 100, 1100, 1.0, is_deleted_from=True).is_endangered
    assert not Backlog(100, 100, 100, 1.0, is_deleted_from=True).is_endangered


def test_a_long_backlog_gets_what_the_others_leave() -> None:
    waiting = {HOT: Backlog(0, 0, 10**6, 100.0), COLD: Backlog(0, 0, 20, 100.0), IDLE: Backlog(0, 0, 30, 100.0)}
    assert plan_reads(waiting, 50_000.0) == ReadPlan(
        SortedMapping({HOT: Range(0, 0, 450), COLD: Range(0, 0, 20), IDLE: Range(0, 0, 30)}),
        bytes=50_000.0,
        is_cut=True,
    )


def test_deleted_records_are_skipped_even_if_none_is_left() -> None:
    waiting = {HOT: Backlog(10, 40, 45, 100.0), COLD: Backlog(10, 30, 30, 100.0)}
    planned = plan_reads(waiting, 1e6)
    assert dict(planned.ranges) == {HOT: Range(10, 40, 45), COLD: Range(10, 30, 30)}
    assert [(taken.missed, taken.records) for taken in planned.ranges.values()] == [(30, 5), (20, 0)]


def test_a_log_that_ends_before_the_position_is_not_read() -> None:
    nothing: SortedMapping[TopicPartition, Range] = SortedMapping()
    waiting = {HOT: Backlog(500, 0, 20, 100.0), IDLE: Backlog(5, 0, 5, 1.0)}
    assert plan_reads(waiting, 1e6) == ReadPlan(nothing, bytes=0.0, is_cut=False, truncated=(HOT,))


@given(partitions(), st.floats(1.0, 1e8))
def test_ranges_are_within_what_is_there_and_everybody_who_has_something_gets_something(
    waiting: dict[TopicPartition, Backlog], limit: float
) -> None:
    planned = plan_reads(waiting, limit)
    for partition, at in waiting.items():
        begun = max(at.position, at.first)
        if at.end > begun or at.first > at.position:
            taken = planned.ranges[partition]
            assert (taken.position, taken.first) == (at.position, begun)
            assert begun + min(1, at.end - begun) <= taken.next <= at.end
        else:
            assert partition not in planned.ranges
    assert planned.is_cut == any(taken.next < waiting[p].end for p, taken in planned.ranges.items())


@given(partitions(), st.floats(1.0, 1e8))
def test_the_limit_is_used_and_kept_but_for_a_record_of_each(
    waiting: dict[TopicPartition, Backlog], limit: float
) -> None:
    planned = plan_reads(waiting, limit)
    record_of_each = sum(at.record_bytes for at in waiting.values())
    assert planned.bytes <= limit * (1 + 1e-9) + record_of_each
    if planned.is_cut:
        assert planned.bytes >= limit * (1 - 1e-9) - record_of_each


@given(partitions(), st.floats(1.0, 1e8))
def test_nobody_gets_more_than_one_who_is_cut(waiting: dict[TopicPartition, Backlog], limit: float) -> None:
    planned = plan_reads(waiting, limit)
    got = taken_bytes(waiting, planned)
    for cut, taken in planned.ranges.items():
        if taken.next < waiting[cut].end:
            for other, size in got.items():
                if waiting[other].is_endangered and not waiting[cut].is_endangered:
                    continue
                assert size <= got[cut] + waiting[cut].record_bytes + waiting[other].record_bytes


def test_an_endangered_partition_gets_no_less_than_the_others() -> None:
    """Four of five are endangered: three quarters of the limit are less for each than a fifth of it."""
    endangered = {TopicPartition("clicks", number): Backlog(0, 0, 10_000, 1.0, True) for number in range(4)}
    planned = plan_reads({**endangered, HOT: Backlog(0, 0, 10_000, 1.0)}, 10_000.0)
    assert [taken.records for taken in planned.ranges.values()] == [2_000] * 5


def test_new_partitions_join_a_few_at_a_time_and_known_ones_always_take_part() -> None:
    count = 2 * NEW_AT_ONCE + 5
    every = [TopicPartition("orders", number) for number in range(count)]
    waiting = {partition: Backlog(0, 0, 9, 100.0) for partition in reversed(every)}
    known: set[TopicPartition] = set()
    sizes = []
    while known != set(every):
        known |= few_new(waiting, known).keys()
        sizes.append(len(known))
    assert sizes == [NEW_AT_ONCE, 2 * NEW_AT_ONCE, count]
    assert set(few_new(waiting, ())) == set(every[:NEW_AT_ONCE]), "neighbours"
    assert few_new(waiting, every) == waiting
    recreated = {partition: Backlog(9, 0, 3, 100.0) for partition in every}
    last = TopicPartition("shipments", 0)
    assert last in few_new(recreated | {last: Backlog(0, 0, 9, 100.0)}, ()), "those can't be read, and delay nothing"


def test_every_task_has_enough_work() -> None:
    assert [tasks(size, cores=4, bytes_per_task=1e6) for size in (0.0, 5e5, 2.5e6, 1e9)] == [1, 1, 3, 4]


def test_kafka_clients_share_a_quarter_of_the_heap() -> None:
    sizes = [fetch_bytes(partitions, 600e6) for partitions in (0, 8, 144, 10_000)]
    assert sizes == [1 << 20, 1 << 20, 256 << 10, 64 << 10]
