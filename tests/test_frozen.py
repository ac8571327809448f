"""Changed copies of frozen dataclasses."""

from dataclasses import FrozenInstanceError, dataclass, field, replace
from functools import cached_property

import pytest

from restow.controller.state import View
from restow.controller.transitions import Phase
from restow.frozen import changed


@dataclass(frozen=True)
class Point:
    x: int
    y: int = 0
    names: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class Checked:
    x: int
    y: int = 0

    def __post_init__(self) -> None:
        assert self.x > 0


@dataclass(frozen=True, slots=True)
class Slotted:
    x: int = 0


@dataclass(frozen=True)
class Caching:
    x: int = 0

    @cached_property
    def double(self) -> int:
        return 2 * self.x


@dataclass(frozen=True)
class Inheriting(Caching):
    y: int = 0


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


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AssertionError, match=r"Point has no \['z'\]"):
        changed(Point(1), z=1)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (Checked(1), "Checked checks its fields"),
        (Slotted(), "Slotted has slots"),
        (Caching(), r"Caching caches \['double'\]"),
        (Inheriting(), r"Inheriting caches \['double'\]"),
    ],
)
def test_a_class_that_checks_its_fields_has_slots_or_caches_is_refused(value: object, why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        changed(value, x=-1)
