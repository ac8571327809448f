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


CHANGE = """\
It writes the desired state to <prefix>-service, so that it works wherever Kafka can be reached, and survives restarts
of the controller. The event log, `restow status` and the page show who asked for it, when and why. Repeating the
command changes nothing.

Within 5 s it prints whether the running controller took or refused the request, and why; or that no controller runs, so
that the request takes effect when one starts. The exit code is 0 (taken or recorded), 1 (refused, or Kafka can't be
reached), 2 (wrong input) or 3 (the controller has not answered in time). It needs the rights Read and Write on
<prefix>-service and Read on <prefix>-status.
"""


def add_change(parser: argparse.ArgumentParser) -> None:
    """The options of every command that changes a running group."""
    parser.add_argument(
        "--reason", default="", metavar="TEXT", help="why, for the event log, `restow status` and others"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    add_config(parser)


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
        raise InvalidInput(f"there is no {file}; write one with `restow init`, or name one with --config") from None
    except OSError as error:
        raise InvalidInput(f"{file} can't be read: {error.strerror}; name a settings file") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{file} is not UTF-8 text; settings are TOML") from None
