"""The thread that makes all calls to Spark: results, errors, and work that should end."""

import threading
import time
from collections.abc import Iterator

import pytest

from restow.pipeline.spark.worker import Worker, no_patience


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.close()


def test_work_runs_in_one_other_thread_and_returns_its_result(worker: Worker) -> None:
    names = [worker.run(lambda: threading.current_thread().name) for _ in range(2)]
    assert names == ["spark", "spark"]
    assert not worker.is_busy


def test_an_error_is_raised_where_the_result_is_awaited(worker: Worker) -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        worker.run(fail)
    assert worker.run(lambda: 1) == 1


def test_the_caller_stops_waiting_when_it_should_end_and_the_work_continues(worker: Worker) -> None:
    release = threading.Event()
    assert worker.run_until(release.wait, lambda: True) is None
    assert worker.is_busy
    release.set()
    assert worker.run(lambda: 1) == 1


def test_work_is_cancelled_again_and_again_once_patience_has_run_out(worker: Worker) -> None:
    cancelled = threading.Semaphore(0)

    def until_cancelled_twice() -> str:
        assert cancelled.acquire(timeout=10)
        assert cancelled.acquire(timeout=10)
        return "cancelled twice"

    begun_s = time.monotonic()
    result = worker.run_patiently(until_cancelled_twice, lambda: True, lambda _: 0.2, cancelled.release)
    assert result == "cancelled twice"
    assert time.monotonic() - begun_s > 0.2


def test_patience_starts_over_when_the_work_need_not_end_any_more(worker: Worker) -> None:
    asked = 0

    def every_other_time() -> bool:
        nonlocal asked
        asked += 1
        return asked % 2 == 0

    def never() -> None:
        raise AssertionError("cancelled")

    worker.run_patiently(lambda: time.sleep(0.5), every_other_time, lambda _: 0.06, never)
    assert asked > 2


def test_works_run_side_by_side_and_an_error_of_one_leaves_the_others_alone() -> None:
    worker, both = Worker(threads=2), threading.Barrier(2)

    def meet() -> int:
        return both.wait(timeout=10)

    def fail() -> int:
        raise ValueError("no")

    ended = worker.run_all_patiently([meet, meet, fail], lambda: False, no_patience, lambda: None)
    assert [each.exception() is None for each in ended] == [True, True, False]
    assert sorted(each.result() for each in ended[:2]) == [0, 1]
    worker.close()
