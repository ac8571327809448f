"""Changed copies of frozen dataclasses. The machines make dozens of them in each step."""

from functools import cache, cached_property
from typing import Any, TypeVar

Value = TypeVar("Value")


def changed(value: Value, **changes: Any) -> Value:
    """What dataclasses.replace does, in a twentieth of its time: copies the fields as one dict. For a dataclass without
    slots, without __post_init__ and without cached properties, whose values would be copied too."""
    kind = type(value)
    assert _is_copied_by_fields(kind)  # type: ignore[arg-type]  # every class is hashable
    fields = value.__dict__
    copy = object.__new__(kind)
    copied = copy.__dict__
    copied.update(fields)
    copied.update(changes)
    assert len(copied) == len(fields), f"{kind.__name__} has no {sorted(changes.keys() - fields.keys())}"
    return copy


@cache
def _is_copied_by_fields(kind: type[Any]) -> bool:
    assert not hasattr(kind, "__post_init__"), f"{kind.__name__} checks its fields: use dataclasses.replace"
    assert not hasattr(kind, "__slots__"), f"{kind.__name__} has slots: use dataclasses.replace"
    members = (member for each in kind.__mro__ for member in vars(each).items())
    cached = [name for name, member in members if isinstance(member, cached_property)]
    assert not cached, f"{kind.__name__} caches {cached}: use dataclasses.replace"
    return True
