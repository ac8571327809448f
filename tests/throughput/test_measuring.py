"""When a measurement is over, and what it is made of. The contender is this process, with commits from a list."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from restow.errors import RestowError
from restow.study.throughput import BASE, RESTOW, Commit, TooFewCommits
from restow.throughput.contender import Contender
from restow.throughput.measuring import Timing, measure
from restow.throughput.usage import cores


class Scripted:
    """Commits `records` to each of its tables whenever it is looked at."""

    process = os.getpid()

    def __init__(self, records: float, tables: tuple[str, ...] = ("a",), looks: int = 10**9) -> None:
        self._records, self._tables, self._left = records, tables, looks
        self._steps_s = 0.0
        self.begun_s = time.time()

    def new_commits(self) -> list[Commit]:
        self._left -= 1
        if self._left < 0:
            raise RestowError("it has ended")
        return [Commit(table, time.time(), self._records) for table in self._tables]

    def steps_s(self) -> Mapping[str, float]:
        self._steps_s += 1.0
        return {"write": 3 * self._steps_s, "commit": self._steps_s}

    def stop(self) -> float | None:
        return 1.5


@contextmanager
def running(contender: Contender) -> Iterator[Contender]:
    yield contender


def test_a_contender_is_measured_over_its_commits_and_steps() -> None:
    said: list[str] = []
    found = measure(RESTOW, BASE, cores()[-1:], running(Scripted(100.0)), Timing(0.3, 0.6), float("inf"), said.append)
    assert found.row.contender == RESTOW
    assert found.row.mb_per_s == pytest.approx(found.row.records_per_s * 1000 / 1e6, rel=0.01)
    assert found.row.records_per_s == pytest.approx(100 / found.cycle_s, rel=0.5)
    assert found.row.memory_mb > 1
    assert found.steps == {"write": 0.75, "commit": 0.25}
    assert found.speed.commits >= 3
    assert not found.ran_dry
    assert found.stop_s == 1.5
    assert said


def test_a_contender_that_has_stored_everything_is_over_at_once() -> None:
    found = measure(RESTOW, BASE, cores()[-1:], running(Scripted(100.0)), Timing(0.0, 600.0), 400.0, lambda _: None)
    assert found.ran_dry
    assert found.speed.commits == 3


def test_a_contender_that_ends_is_an_error() -> None:
    with pytest.raises(RestowError, match="it has ended"):
        measure(
            RESTOW,
            BASE,
            cores()[-1:],
            running(Scripted(1.0, looks=3)),
            Timing(0.0, 600.0),
            float("inf"),
            lambda _: None,
        )


def test_a_contender_that_is_over_before_its_warm_up_has_no_speed() -> None:
    with pytest.raises(TooFewCommits):
        measure(RESTOW, BASE, cores()[-1:], running(Scripted(100.0)), Timing(600.0, 1.0), 100.0, lambda _: None)
