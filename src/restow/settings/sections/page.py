"""`[page]`: where the page for browsers is served."""

from dataclasses import dataclass
from typing import Annotated

from restow.settings.checks import Check


@dataclass(frozen=True, slots=True)
class Page:
    """`[page]`: the page that `restow page` serves for browsers."""

    enabled: bool = True
    """Whether `restow up` and `restow manifests` run the page too."""

    host: Annotated[str, Check("an address or a name of this machine", bool)] = "127.0.0.1"
    """The address to listen on. On loopback, everyone on this machine may look. On any other address, also 0.0.0.0 for
    all, looking needs the group's token, as every action does."""

    port: Annotated[int, Check("0 to 65535", lambda port: 0 <= port <= 65535)] = 8642
    """The port to listen on; 0 takes any free one. Groups on one machine need one each."""

    token_file: str | None = None
    """The file with the token that actions need. Without it, `restow page` creates a file that only its owner can read:
    in the group's directory, or with platform = "kubernetes" below ~/.restow."""
