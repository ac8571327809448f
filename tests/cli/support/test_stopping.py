"""Stop signals are remembered; work that may be left half done is interrupted."""

import os
import signal
from collections.abc import Iterator

import pytest

from restow.cli.support.stopping import STOP_SIGNALS, Stop, Stopped


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_a_signal_is_remembered_and_interrupts_nothing(number: signal.Signals) -> None:
    stop = Stop()
    assert not stop.wait(0.0)
    os.kill(os.getpid(), number)
    assert stop.wait(60.0)


def test_work_that_may_be_left_half_done_is_interrupted_and_the_signal_remembered() -> None:
    def work() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        while True:
            pass

    stop = Stop()
    with pytest.raises(Stopped), stop.raising():
        work()
    assert stop.wait(0.0)
    os.kill(os.getpid(), signal.SIGTERM)  # after the block a signal raises nothing


def test_work_does_not_begin_after_a_signal() -> None:
    stop = Stop()
    os.kill(os.getpid(), signal.SIGTERM)
    assert stop.wait(60.0)
    with pytest.raises(Stopped), stop.raising():
        pytest.fail("it began")
