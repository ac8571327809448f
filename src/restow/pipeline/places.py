"""Places of tables: a relative path in `[consume.NAME] table` starts in the directory of restow.toml.

In older versions it started in the working directory. A table that is still there, and not at its new place, is an
error that names both: a new table would have none of its rows and start from the beginning.
"""

from pathlib import Path
from typing import NamedTuple

from restow.errors import RestowError
from restow.settings import Settings


class Place(NamedTuple):
    """Where a table is."""

    uri: str
    """An absolute path, or a URI."""
    former: Path | None = None
    """Where older versions had it; None if that is the same."""


class TableElsewhere(RestowError):
    """The table is where older versions had it. A person has to move it, or to write its absolute path."""

    def __init__(self, right: str, former: Path) -> None:
        super().__init__(
            f"there is no table at {right}, relative to restow.toml, but one of this group at {former}, relative to "
            "the working directory, where an older version put it; move it to the first place while the group is down, "
            "or write the absolute path of the second as table"
        )


def place_of(table: str, settings: Settings) -> Place:
    """`table` as in restow.toml."""
    uri = settings.located(table)
    if "://" in uri:
        return Place(uri)
    path, former = Path(uri).absolute(), Path(table).absolute()
    return Place(str(path), None if path.resolve() == former.resolve() else former)
