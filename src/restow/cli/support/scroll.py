"""Which rows of a long list are on the screen. Pure."""

from restow.cli.support.keys import Key

FEWEST_ROWS = 3
"""Shown even on a screen that is too small for them."""


class Scroll:
    def __init__(self) -> None:
        self._first, self._rows = 0, FEWEST_ROWS

    @property
    def shown(self) -> slice:
        return slice(self._first, self._first + self._rows)

    def moved(self, key: Key | None, rows: int, room: int) -> bool:
        """Follows a key, and a list or screen that has another size. Returns whether other rows are shown."""
        before = (self._first, self._rows)
        self._rows = max(FEWEST_ROWS, room)
        page = max(1, self._rows - 1)
        match key:
            case "up":
                self._first -= 1
            case "down":
                self._first += 1
            case "page up":
                self._first -= page
            case "page down":
                self._first += page
            case "home":
                self._first = 0
            case "end":
                self._first = rows
            case _:
                pass
        self._first = max(0, min(self._first, rows - self._rows))
        return before != (self._first, self._rows)
