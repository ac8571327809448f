"""Requests to brokers that are away: which errors are ridden out, how long the pauses are, and what is logged."""

import logging

import pytest

from restow.errors import InvalidInput, RestowError
from restow.kafka.errors import NoAnswer, NotAllowed, RequestRefused
from restow.kafka.outages import BACKOFF, Outages


class Brokers:
    """Fails with each of these errors in turn, then answers. Is its own clock."""

    def __init__(self, *errors: RestowError) -> None:
        self._errors = list(errors)
        self.pauses_s: list[float] = []

    def request(self) -> str:
        if self._errors:
            raise self._errors.pop(0)
        return "topics"

    def pause(self, seconds: float, error: RestowError) -> None:
        assert isinstance(error, RestowError)
        self.pauses_s.append(seconds)


def test_pauses_grow_up_to_a_limit_until_the_brokers_answer() -> None:
    brokers = Brokers(*(NoAnswer("away") for _ in range(9)))
    assert Outages(brokers.pause).until_answered(brokers.request) == "topics"
    assert brokers.pauses_s == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
    assert brokers.pauses_s[-1] == BACKOFF.longest_s


def test_each_kind_of_failure_is_logged_once_and_so_is_the_end(caplog: pytest.LogCaptureFixture) -> None:
    """Brokers that come up go through several kinds: nothing answers, then too few brokers for a topic."""
    caplog.set_level(logging.INFO, "restow")
    few = RequestRefused("can't create the topic a: 1 broker")
    brokers = Brokers(NoAnswer("away"), NoAnswer("still away"), few, NoAnswer("away again"), few)
    Outages(brokers.pause).until_answered(brokers.request)
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "away; retrying"),
        ("WARNING", "can't create the topic a: 1 broker; retrying"),
        ("INFO", "the brokers answer again"),
    ]


def test_without_trouble_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "restow")
    assert Outages(Brokers().pause).until_answered(Brokers().request) == "topics"
    assert caplog.messages == []


@pytest.mark.parametrize("wrong", [InvalidInput("[kafka] can't be used"), NotAllowed("credentials rejected")])
def test_settings_that_cant_be_right_end_the_wait(wrong: RestowError) -> None:
    brokers = Brokers(NoAnswer("away"), wrong)
    with pytest.raises(type(wrong)):
        Outages(brokers.pause).until_answered(brokers.request, final=(NotAllowed,))
    assert brokers.pauses_s == [0.5]


def test_a_right_that_is_lost_later_is_ridden_out() -> None:
    brokers = Brokers(NotAllowed("the right Write is missing"))
    assert Outages(brokers.pause).until_answered(brokers.request) == "topics"


def test_the_wait_ends_when_the_pause_gives_up() -> None:
    class Stop(Exception):
        pass

    def stop(*_: object) -> None:
        raise Stop

    with pytest.raises(Stop):
        Outages(stop).until_answered(Brokers(NoAnswer("away")).request)
