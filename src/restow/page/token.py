"""The group's token: what a browser must know to change the group, and on another address than loopback to see it.

It is made once for each group and kept in a file that only its owner reads, so that it survives restarts of the page.
Never log it.
"""

import os
import secrets
import stat
from pathlib import Path
from typing import Final

from restow.durable import ONLY_OWNER_DIRECTORY, ONLY_OWNER_FILE, locked_file, write_atomically
from restow.errors import InvalidInput
from restow.platform.processes.location import directory_of
from restow.platform.processes.supervisors import run_directory
from restow.settings import Settings

NAME: Final = "page-token"
BYTES: Final = 32
LEAST_LETTERS: Final = 16


def token_for(settings: Settings, given: Path | None = None) -> tuple[str, Path]:
    """The group's token and its file; the `given` one if that exists. Raises InvalidInput."""
    if given is not None and given.exists():
        return token_of(given), given
    if settings.page.token_file is not None:
        file = Path(settings.located(settings.page.token_file))
        return token_of(file), file
    if settings.group.platform == "kubernetes":  # a pod, or a machine that has nothing else of the group
        return token_in(Path.home() / ".restow" / settings.group.name)
    return token_in(run_directory(settings.group.name, directory_of(settings)))


def token_in(directory: Path) -> tuple[str, Path]:
    """The token in the group's directory and its file, made if it is missing. Raises InvalidInput."""
    file = directory / NAME
    try:
        directory.mkdir(ONLY_OWNER_DIRECTORY, parents=True, exist_ok=True)
        with locked_file(directory / f"{NAME}.lock"):
            if not file.exists():
                write_atomically(file, f"{secrets.token_urlsafe(BYTES)}\n".encode(), ONLY_OWNER_FILE)
    except OSError as error:
        raise InvalidInput(f"the page's token can't be written to {file}: {error.strerror}") from None
    return token_of(file), file


def token_of(file: Path) -> str:
    """Raises InvalidInput if it can't be used, or others could read it."""
    try:
        with file.open(encoding="ascii") as stream:
            mode, token = stat.S_IMODE(os.fstat(stream.fileno()).st_mode), stream.read(1000).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"the page's token can't be read from {file}: {error}") from None
    if mode & 0o007:
        raise InvalidInput(f"{file} has the page's token and everybody can read it; run `chmod 600 {file}`")
    return checked(token, str(file))


def checked(token: str, where: str) -> str:
    """Raises InvalidInput if it is too easy to guess, or can't be part of an address."""
    if len(token) < LEAST_LETTERS or not all(letter.isalnum() or letter in "-_" for letter in token):
        raise InvalidInput(
            f"the page's token in {where} must have {LEAST_LETTERS} or more letters, digits, - or _; "
            "remove it, and a new one is made"
        )
    return token
