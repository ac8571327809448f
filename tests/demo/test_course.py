"""The course waits until the group has reacted, but not for ever."""

import pytest

from restow.demo.course import BUSY, QUIET, Act, Course, Scene

SECONDS = 240.0
ALONE, SMALL, GROWING = Scene(2, 1, 0, 0), Scene(2, 1, 1, 0), Scene(3, 1, 1, 0)
GROWN, WITH_SPARE = Scene(3, 2, 0, 0), Scene(3, 2, 1, 0)
STRUCK, SHRINKING = Scene(3, 1, 1, 3), Scene(3, 1, 1, 0)


def perform(scenes: dict[Act, Scene], seconds: float = SECONDS) -> dict[Act, int]:
    """The second in which each act begins, if each shows this scene."""
    course, begins = Course(seconds), {Act.QUIET: 0}
    for second in range(10_000):
        if course.goes_on(float(second), scenes.get(course.act, SMALL)):
            begins[course.act] = second
        if course.act is Act.OVER:
            return begins
    raise AssertionError(f"it hangs in {course.act}")


def test_with_all_shown_in_time_every_act_lasts_for_its_share() -> None:
    shown = {Act.BUSY: WITH_SPARE, Act.ACCIDENT: GROWN, Act.QUIET_AGAIN: SMALL}
    assert perform(shown) == {Act.QUIET: 0, Act.BUSY: 36, Act.ACCIDENT: 108, Act.QUIET_AGAIN: 144, Act.OVER: 216}


def test_an_act_waits_until_the_group_has_reacted() -> None:
    course = Course(SECONDS)
    assert not course.goes_on(35.9, SMALL)
    assert not course.goes_on(36.0, ALONE), "the spare is not ready yet"
    assert course.goes_on(37.0, SMALL)
    assert (course.act, course.capacities) == (Act.BUSY, BUSY)
    assert not course.goes_on(199.0, GROWING), "the second has nothing to read yet"
    assert not course.is_shown(GROWING)
    assert not course.goes_on(200.0, GROWN), "the accident needs a spare"
    assert course.is_shown(GROWN)
    assert course.goes_on(201.0, WITH_SPARE)
    assert course.act is Act.ACCIDENT
    assert not course.goes_on(238.0, STRUCK), "the killed consumer's partitions have no reader"
    assert course.goes_on(239.0, GROWN)
    assert (course.act, course.capacities) == (Act.QUIET_AGAIN, QUIET)
    assert not course.goes_on(320.0, SHRINKING)
    assert course.goes_on(321.0, SMALL)
    assert (course.act, course.capacities) == (Act.OVER, 0.0)


@pytest.mark.parametrize(("seconds", "longest_s"), [(240.0, 480), (60.0, 180), (10.0, 130)])
def test_an_act_ends_in_the_end_even_if_the_group_never_reacts(seconds: float, longest_s: int) -> None:
    never = {Act.QUIET: ALONE, Act.BUSY: GROWING, Act.ACCIDENT: STRUCK, Act.QUIET_AGAIN: SHRINKING}
    begins = perform(never, seconds)
    assert list(begins) == list(Act)
    assert begins[Act.OVER] == longest_s
