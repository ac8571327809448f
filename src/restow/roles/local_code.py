"""The transforms' modules that consumers load from this machine's disk, and `restow reload`."""

import logging
from collections.abc import Callable
from typing import NamedTuple

from restow.controller.events import CodeChanged

log = logging.getLogger(__name__)


class Code(NamedTuple):
    read: Callable[[], str | None]
    """Returns their digest as they are now; None if there are none."""
    is_reload_requested: Callable[[], bool]
    """Whether a person asked since the last call to read them again."""

    def reloaded(self, before: str | None) -> list[CodeChanged]:
        """The modules, if `restow reload` asked for them."""
        if not self.is_reload_requested():
            return []
        code = self.read()
        if code == before:
            log.info("reload: the transforms have not changed (code %s)", code or "none")
        else:
            log.info("reload: the transforms have changed (code %s -> %s)", before or "none", code or "none")
        return [CodeChanged(code)]
