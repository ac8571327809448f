"""`restow controller`: decides how many consumers there are and what each reads, until told to stop."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from restow.cli.common import Subparsers
from restow.cli.config import add_config, settings_of
from restow.cli.logging_lines import say
from restow.cli.stopping import Stop
from restow.errors import InvalidInput
from restow.model import ConsumerId
from restow.protocol.messages import ConsumerSettings
from restow.settings import Settings

if TYPE_CHECKING:
    from restow.platform.processes.consumers import LocalProcesses

DESCRIPTION = """\
Keeps the group just large enough: reads the speeds that `restow monitor` publishes, packs the partitions onto as few
consumers as can carry them, starts and ends consumers, and moves partitions between them. It says what it does and why.

Consumers run as processes on this machine and go on when the controller ends; the next one finds them again.
If another controller of the group is running, this one takes over and the other ends. `restow down` ends everything.
"""

EPILOG = """\
restow.toml:
  [kafka]
  bootstrap = "127.0.0.1:9092"
  [consume.orders]                     for each topic of interest, by name or by a pattern from ^ on
  table = "tables/orders.db"
  [consumer]
  capacity_bytes_per_s = 2000000       what one consumer sustains
  [controller]
  worth = 1.0                          what a consumer is worth, in capacities of moved speed

Every event and every decision goes to the event log; `restow replay FILE` runs it again and explains it.
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "controller", help="keep the group just large enough", description=DESCRIPTION, epilog=EPILOG
    )
    add_config(parser)
    parser.add_argument(
        "--log",
        type=Path,
        metavar="FILE",
        help="the event log (default: events.jsonl in the group's directory); the one before is kept as FILE.1",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    settings = settings_of(args)
    if not settings.consume:
        raise InvalidInput(f"{args.config}: there is nothing to consume; write a table [consume.TOPIC] for each topic")
    from restow.controller.journal import Journal
    from restow.controller.process import ControllerProcess
    from restow.platform.processes.roles import RunningRole

    stop = Stop()
    directory = Path(settings.processes.directory).absolute()
    log: Path = args.log or directory / f"{settings.group.name}-controller" / "events.jsonl"
    with RunningRole(settings.group.name, directory, "controller"), Journal(log) as journal:
        say(f"the controller of group {settings.group.name} starts; its event log is {log}")
        platform = local_processes(settings, args.config, directory)
        ControllerProcess(settings, platform, journal, say).run(stop.wait)
    return 0


def local_processes(settings: Settings, config: Path, directory: Path) -> "LocalProcesses":
    from restow.platform.processes.consumers import LocalProcesses

    group, file = settings.group.name, str(config.absolute())

    def command(consumer: ConsumerId, volume: Path, _: ConsumerSettings) -> Sequence[str]:
        name = f"{group}-consumer-{consumer}"
        return (sys.executable, "-m", "restow", "consumer", "--config", file, "--name", name, "--volume", str(volume))

    return LocalProcesses(group, directory, command, settings.consumer.grace_s)
