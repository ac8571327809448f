"""What people want of the group: recorded, answered, and shown."""

from tests.support.controller_driver import A0, ELSEWHERE, Driver
from tests.support.picture_driver import pair as pictured

from restow.controller.desired import MOST_ANSWERS, Answer
from restow.model import ConsumerId
from restow.picture.picture import Paused, Pin, Recommending, ServiceAnswer
from restow.protocol.messages.desired import ConsumerRestart, GroupPause, PartitionPin, RecommendOnly
from restow.protocol.messages.service import ServiceUpdate

ONE, TWO = ConsumerId(1), ConsumerId(2)
ONE_PM, NOON = "2026-03-01T13:00:00Z", "2026-03-01T12:00:00Z"
PAUSE = GroupPause(True, ONE_PM, "anna@host-a", NOON, "maintenance")
PIN = PartitionPin(A0, ONE, ONE_PM, "anna@host-a", NOON, "to see it alone")
RECOMMEND = RecommendOnly(True, "anna@host-a", NOON, "to look on")
RESTART = ConsumerRestart(TWO, 90, "anna@host-a", NOON)


def test_the_newest_record_of_each_key_is_known_and_a_default_is_none(pair: Driver) -> None:
    for record in (PAUSE, PIN, RECOMMEND, RESTART):
        pair.desires(record)
    desired = pair.state.desired
    assert (desired.pause, desired.recommend) == (PAUSE, RECOMMEND)
    assert (dict(desired.pins), dict(desired.restarts)) == ({A0: PIN}, {TWO: RESTART})
    for record in (GroupPause(False), PartitionPin(A0, None), RecommendOnly(False), ConsumerRestart(TWO, None)):
        pair.desires(record)
    desired = pair.state.desired
    assert (desired.pause, desired.recommend, len(desired.pins), len(desired.restarts)) == (None, None, 0, 0)


def test_each_of_the_last_records_has_an_answer(pair: Driver) -> None:
    for _ in range(MOST_ANSWERS):
        pair.desires(ServiceUpdate("change", "c", ELSEWHERE))
    pair.desires(PAUSE)
    answers = pair.state.desired.answers
    assert [answer.offset for answer in answers] == list(range(1, MOST_ANSWERS + 1))
    assert {answer.taken for answer in answers} == {True}
    assert pair.state.desired.offset == MOST_ANSWERS


def test_the_last_answer_to_a_record_counts() -> None:
    driver = Driver()
    driver.desires(PAUSE)
    driver.desires(PIN)
    desired = driver.state.desired.answered(0, False, "refused: too late")
    assert desired.answers[0] == Answer(0, False, "refused: too late")
    assert [answer.offset for answer in desired.answers] == [0, 1]


def test_the_picture_has_all_of_it() -> None:
    driver = pictured()
    for record in (PAUSE, PIN, RECOMMEND):
        driver.desires(record)
    overview = driver.picture().overview
    assert overview.paused == Paused(ONE_PM, "anna@host-a", NOON, "maintenance")
    assert overview.recommend_only == Recommending("anna@host-a", NOON, "to look on")
    assert dict(overview.pins) == {A0: Pin(ONE, ONE_PM, "anna@host-a", NOON, "to see it alone")}
    assert overview.service_offset == 2
    assert [(answer.offset, answer.taken) for answer in overview.answers] == [(0, True), (1, True), (2, True)]
    assert overview.answers[0] == ServiceAnswer(0, True, "paused until 2026-03-01 13:00:00 UTC")
