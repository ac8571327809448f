"""A command finds in the picture what became of its record."""

from dataclasses import replace

from tests.support.picture_driver import pair

from restow.picture.answers import Outcome, answer_to
from restow.picture.picture import ServiceAnswer

OVERVIEW = pair().picture().overview


def test_a_record_that_was_not_read_yet_has_no_outcome() -> None:
    assert answer_to(OVERVIEW, 4) is None
    assert answer_to(replace(OVERVIEW, service_offset=3), 4) is None


def test_the_controllers_words_count() -> None:
    answers = (ServiceAnswer(3, True, "taken"), ServiceAnswer(4, False, "refused: there is no consumer 9"))
    overview = replace(OVERVIEW, service_offset=5, answers=answers)
    assert answer_to(overview, 4) == Outcome(False, "refused: there is no consumer 9")


def test_a_record_whose_answer_was_dropped_for_newer_ones_was_taken() -> None:
    assert answer_to(replace(OVERVIEW, service_offset=90), 4) == Outcome(True, "taken")
