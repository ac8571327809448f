"""The machine's notes as log lines. The controller's process calls it once a round."""

import logging
from collections.abc import Sequence
from typing import Final

from restow.controller.effects import Effect, Moved, Noted, NoteKind

log = logging.getLogger(__name__)

LEVELS: Final[dict[NoteKind, int]] = {
    "decision": logging.INFO,
    "flag": logging.WARNING,
    "cleared": logging.INFO,
    "consumer": logging.INFO,
    "failure": logging.WARNING,
}
MOST_FAILURES: Final = 3
"""Of one consumer, in one line."""


def log_notes(effects: Sequence[Effect]) -> None:
    failures: dict[str, list[Noted]] = {}
    for effect in effects:
        if isinstance(effect, Noted) and effect.kind == "failure":
            failures.setdefault(effect.subject, []).append(effect)
    for effect in effects:
        match effect:
            case Moved(source, target, _, words):
                log.info("%s -> %s: %s", source, target, words)
            case Noted("failure", subject):
                if noted := failures.pop(subject, None):  # all of a consumer's failures, at the first of them
                    log.log(LEVELS["failure"], "%s", _summed_up(noted))
            case Noted(kind):
                log.log(LEVELS[kind], "%s", effect.line)
            case _:
                pass


def _summed_up(noted: Sequence[Noted]) -> str:
    """What went wrong with one consumer in a round, as one line: it may refuse partitions of many topics at once."""
    first, *others = dict.fromkeys(noted)
    told = [first.line, *(each.words for each in others[: MOST_FAILURES - 1])]
    left = len(others) + 1 - len(told)
    return "; ".join([*told, f"and {left} more like these"] if left else told)
