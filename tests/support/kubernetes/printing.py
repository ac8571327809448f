"""Runs `restow manifests`, and applies its output as an operator would."""

import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

from lightkube import Client
from lightkube.codecs import load_all_yaml

from restow.cli import main

OPERATOR = "operator"


class Printed(NamedTuple):
    code: int
    text: str
    notes: str


def printed(config: Path, *options: str) -> Printed:
    text, notes = io.StringIO(), io.StringIO()
    with redirect_stdout(text), redirect_stderr(notes):
        code = main(["manifests", "--config", str(config), *options])
    return Printed(code, text.getvalue(), notes.getvalue())


def manifests_of(config: Path) -> str:
    code, text, notes = printed(config)
    assert code == 0, notes
    return text


def applied(client: Client, text: str, *, dry_run: bool = False) -> list[Any]:
    """Like `kubectl apply --server-side`. Returns the objects as the API server has them."""
    things: list[Any] = list(load_all_yaml(text))
    return [client.apply(thing, field_manager=OPERATOR, dry_run=dry_run) for thing in things]
