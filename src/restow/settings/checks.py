"""Constraints on settings beyond their type. `sections/` annotates fields with them, `reader.py` applies them."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from restow.settings.cron import is_cron, is_duration


@dataclass(frozen=True, slots=True)
class Check:
    wanted: str
    """The valid values, in words that follow "it must be"."""

    holds: Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class IfMissing:
    """What to write if a required setting is missing, where the valid values alone don't tell."""

    advice: str


ABOVE_0 = Check("above 0", lambda value: value > 0)
AT_LEAST_0 = Check("0 or more", lambda value: value >= 0)
AT_LEAST_1 = Check("1 or more", lambda value: value >= 1)
SHARE_OR_0 = Check("from 0 to 1", lambda value: 0 <= value <= 1)
SHARE = Check("above 0 and at most 1", lambda value: 0 < value <= 1)


def one_of(*words: str) -> Check:
    return Check(" or ".join(words), lambda text: text in words)


CRON = Check("a cron expression of five fields, like 0 22 * * mon-fri", is_cron)
DURATION = Check("days, hours and minutes, like 8h or 1d12h, 31d at most", is_duration)

DNS_NAME = Check(
    "a Kubernetes name: lowercase letters, digits, dashes and dots",
    lambda text: len(text) <= 253 and re.fullmatch(r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?", text) is not None,
)

GROUP_NAME = Annotated[
    str,
    Check(
        "1 to 40 lowercase letters, digits or dashes, starting with a letter",
        lambda text: re.fullmatch(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?", text) is not None,
    ),
]
"""The group's name is part of names on every platform; Kubernetes allows 63 characters."""

LONGEST_PREFIX = 200
"""Kafka allows 249 characters in a topic's name; restow appends a few to the prefix."""

TOPIC_PREFIX = Annotated[
    str,
    Check(
        f"the start of a topic's name: 1 to {LONGEST_PREFIX} letters, digits, dots, dashes or underscores",
        lambda text: re.fullmatch(rf"[A-Za-z0-9._-]{{1,{LONGEST_PREFIX}}}", text) is not None,
    ),
]


def _is_topic_or_pattern(text: str) -> bool:
    if not text.startswith("^"):
        return re.fullmatch(r"[A-Za-z0-9._-]{1,249}", text) is not None
    try:
        re.compile(text)
    except re.error:
        return False
    return True


TOPIC_OR_PATTERN = Annotated[
    str, Check("a topic's name, or a regular expression that starts with ^", _is_topic_or_pattern)
]
