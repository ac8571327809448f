"""The command line reads one command without the modules of all others."""

import subprocess
import sys
from itertools import chain

import pytest

from restow.cli.main import COMMANDS, main, parser

OF_A_CONSUMER = "restow.roles.consumer, restow.kafka.channels.consumer, restow.pipeline.light.pipeline"
NOT_OF_A_CONSUMER = (
    "kafka",
    "matplotlib",
    "numba",
    "numpy",
    "pyspark",
    "restow.controller",
    "restow.simulator",
    "rich",
)
STARTED = f"""\
import sys
from restow.cli import main
try:
    main(["consumer", "--help"])
except SystemExit:
    import {OF_A_CONSUMER}
print("loaded:", *sorted(set(sys.modules) & {set(NOT_OF_A_CONSUMER)}))
"""


@pytest.mark.parametrize("command", [*chain(*COMMANDS.values()), "resume"])
def test_a_command_has_the_same_help_alone_and_among_all(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    for read in (main, parser().parse_args):
        with pytest.raises(SystemExit, match="0"):
            read([command, "--help"])
    words = capsys.readouterr().out
    assert words.startswith(f"usage: restow {command} ")
    assert words[: len(words) // 2] == words[len(words) // 2 :]


def test_an_unknown_command_is_answered_with_all_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["stats"])
    words = capsys.readouterr().err
    assert all(command in words for command in chain(*COMMANDS.values()))


def test_a_consumer_starts_without_what_only_other_commands_need() -> None:
    done = subprocess.run([sys.executable, "-c", STARTED], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded:"
