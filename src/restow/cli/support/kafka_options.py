"""The brokers on the command line: `--bootstrap` and `--property`, for commands that work without a restow.toml."""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path

from restow.errors import InvalidInput
from restow.settings import Kafka, read_settings
from restow.settings.exposure import as_variable, is_written_out
from restow.starter.settings_text import kafka_text


def add_properties(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--property",
        type=_property,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a property for Kafka's clients, such as security.protocol=SSL; may be repeated",
    )


def kafka_given(bootstrap: str, properties: Mapping[str, str], directory: Path, command: str) -> Kafka:
    """As restow.toml would have it; relative paths of certificates start in `directory`. Raises InvalidInput, also for
    a secret that is written out."""
    for name, value in properties.items():
        if is_written_out(name, value):
            raise InvalidInput(
                f"--property {name}: a secret doesn't belong into a file or on a command line; write "
                f"'{name}=${{{as_variable(name)}}}', in single quotes, and set that variable"
            )
    head = f'{kafka_text(bootstrap, properties)}[group]\nname = "any"\n'
    return read_settings(head, command, os.environ).in_directory(str(directory.absolute())).kafka


def _property(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"'{text}' is not a property; write NAME=VALUE, like security.protocol=SSL")
    return name.strip(), value
