"""Names of functions and groups, made from the names of topics and directories."""

import keyword
import re
from collections.abc import Iterable
from typing import Final, get_args

from restow.settings.checks import GROUP_NAME, Check

LONGEST_GROUP: Final = 40


def group_check() -> Check:
    """What a group's name must be."""
    check: Check = get_args(GROUP_NAME)[1]
    return check


def group_from(directory: str) -> str | None:
    """A group's name from the directory's; None if it makes none."""
    name = re.sub(r"[^a-z0-9]+", "-", directory.lower()).lstrip("-0123456789")[:LONGEST_GROUP].rstrip("-")
    return name if group_check().holds(name) else None


def function_names(topics: Iterable[str]) -> dict[str, str]:
    """A function's name for each topic; none twice, though topics may differ in dots and dashes only."""
    names: dict[str, str] = {}
    for topic in topics:
        plain = re.sub(r"[^a-z0-9]+", "_", topic.lower()).strip("_") or "topic"
        name = f"topic_{plain}" if plain[0].isdigit() else f"{plain}_" if keyword.iskeyword(plain) else plain
        taken, number = set(names.values()), 2
        while name in taken:
            name, number = f"{plain}_{number}", number + 1
        names[topic] = name
    return names
