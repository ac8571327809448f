"""A table of restow.toml that restow hands on unread, such as `[kubernetes.pod]`: the receiver validates it.

Its values may be secret, so its repr shows only the keys.
"""

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any


class PassthroughTable(Mapping[str, Any]):
    """Read-only. Its values are those of JSON: tables, lists, texts, numbers, true and false."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._values: dict[str, Any] = copy.deepcopy(dict(values or {}))

    def __getitem__(self, key: str) -> Any:
        return copy.deepcopy(self._values[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"PassthroughTable({', '.join(self._values)})"

    def __hash__(self) -> int:
        return hash(json.dumps(self._values, sort_keys=True))
