"""Finds and reads restow.toml: `--config FILE`, else ./restow.toml."""

import argparse
import os
from pathlib import Path

from restow.errors import InvalidInput
from restow.settings import Settings, read_settings

DEFAULT = Path("restow.toml")


def add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config", type=Path, metavar="FILE", default=DEFAULT, help=f"the settings, as TOML (default: ./{DEFAULT})"
    )


def settings_of(args: argparse.Namespace) -> Settings:
    return settings_from(args.config)


def settings_from(file: Path) -> Settings:
    """Relative paths in the file start in its directory. If it is a link, that is the link's directory: in pods its
    target changes with every update."""
    return read_settings(text_of(file), str(file), os.environ).in_directory(str(file.absolute().parent))


def text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        example = '[kafka] with bootstrap = "host:9092", [group] with name = "orders"'
        raise InvalidInput(f"there is no {file}; write one (at least {example}), or name one with --config") from None
    except OSError as error:
        raise InvalidInput(f"{file} can't be read: {error.strerror}; name a settings file") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{file} is not UTF-8 text; settings are TOML") from None
