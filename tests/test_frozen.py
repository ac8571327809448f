"""Changed copies of frozen dataclasses."""

from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from restow.controller.state import View
from restow.controller.transitions import Phase
from restow.frozen import changed


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 0
    names: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Checked:
    x: int
    y: int = 0

    def __post_init__(self) -> None:
        assert self.x > 0


def test_a_copy_differs_in_what_is_changed_and_is_as_frozen() -> None:
    point = Point(1, 2, ("a",))
    copy = changed(point, x=7)
    assert (copy, point) == (Point(7, 2, ("a",)), Point(1, 2, ("a",)))
    assert hash(copy) == hash(replace(point, x=7))
    with pytest.raises(FrozenInstanceError):
        copy.x = 8  # type: ignore[misc]


def test_a_view_of_a_consumer_is_copied_as_dataclasses_would() -> None:
    view = View(Phase.READY, 1.0, 2.0, settings=None)
    assert changed(view, since_s=3.0, sequence=4) == replace(view, since_s=3.0, sequence=4)


def test_an_unknown_name_and_a_class_that_checks_its_fields_are_refused() -> None:
    with pytest.raises(KeyError):
        changed(Point(1), z=1)
    with pytest.raises(AssertionError, match="Checked checks its fields"):
        changed(Checked(1), x=-1)
