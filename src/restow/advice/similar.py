"""Finds existing names that resemble a missing one, for the error about it."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

MOST: Final = 5
CUTOFF: Final = 0.6


def similar(name: str, known: Iterable[str]) -> list[str]:
    """The closest first; then names that contain the given one, or are contained in it."""
    names = sorted(set(known))
    close = get_close_matches(name, names, MOST, CUTOFF)
    lower = name.lower()
    related = [each for each in names if lower in each.lower() or each.lower() in lower]
    return list(dict.fromkeys([*close, *related]))[:MOST]
