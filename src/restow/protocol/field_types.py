"""The types of fields that several messages have, and the mark of fields that were added later."""

from typing import Final, Literal

from restow.model import SortedMapping, TopicPartition

RECOVER: Final = "recover"
"""In place of an offset: resume at the table's offset, or else the group's committed one, or else the topic's
`start`."""

StartFrom = int | Literal["recover"]
Offsets = SortedMapping[TopicPartition, int]
BrokenTransforms = SortedMapping[str, str]
"""Transforms that can't be run, each with the error."""

Options = SortedMapping[str, str | int | float | bool]
"""What a transform gets beside the records."""

NO_OFFSETS: Final[Offsets] = SortedMapping()
NO_OPTIONS: Final[Options] = SortedMapping()

ADDED: Final = {"left_out_by_default": True}
"""Marks a field that was added later: it is not written while it has its default, so that existing messages keep their
encoding."""
