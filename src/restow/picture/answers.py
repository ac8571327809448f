"""What became of a record of the service topic, as the picture tells: for the commands and the page that wrote it."""

from dataclasses import dataclass
from typing import Final

from restow.picture.picture import Overview

ANSWER_WITHIN_S: Final = 5.0
"""A controller reads the service topic all the time, and publishes a change at once but at most one a second."""


@dataclass(frozen=True, slots=True)
class Outcome:
    taken: bool | None
    """False: refused; None: no controller has answered, and the record takes effect when one does."""
    words: str


NO_CONTROLLER: Final = Outcome(None, "it is written; no controller runs now, and it takes effect when one does")
NO_ANSWER: Final = Outcome(
    None,
    f"it is written; the controller has not answered within {ANSWER_WITHIN_S:g} s, and it takes effect when it does",
)


def answer_to(overview: Overview, offset: int) -> Outcome | None:
    """Returns None if the controller has not applied the record with this offset yet."""
    for answer in overview.answers:
        if answer.offset == offset:
            return Outcome(answer.taken, answer.words)
    is_applied = overview.service_offset is not None and overview.service_offset >= offset
    return Outcome(True, "taken") if is_applied else None
