"""The command `restow`: one subcommand a module, each with `add(commands)`. Only here are the parts put together."""

from restow.cli.main import main

__all__ = ["main"]
