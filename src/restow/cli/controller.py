"""`restow controller`: decides how many consumers there are and what each reads, until it is stopped."""

import argparse
import logging
import os
import socket
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from restow.cli.support.config import add_config, settings_of
from restow.cli.support.consumers_config import with_config_digest
from restow.cli.support.local_modules import local_modules
from restow.cli.support.options import Subparsers
from restow.cli.support.packer import load_packer
from restow.cli.support.recorded import recorded
from restow.cli.support.serving import serving
from restow.cli.support.stopping import Stop, Stopped
from restow.errors import InvalidInput, RestowError
from restow.health import Health
from restow.logs import configure
from restow.metrics.board import Board
from restow.model import ConsumerId
from restow.protocol.consumer_settings import ConsumerSettings
from restow.settings import Settings
from restow.waiting import waiting

if TYPE_CHECKING:
    from restow.platform.interface import Platform
    from restow.platform.processes.controllers import ControllerLock
    from restow.platform.processes.platform import LocalProcesses
    from restow.roles.local_code import Code

log = logging.getLogger(__name__)

DESCRIPTION = """\
Keeps the group just large enough. It reads the speeds that `restow monitor` publishes, packs the partitions onto as few
consumers as can carry them, starts and stops consumers, moves partitions between them, and logs each decision with its
reason.

Consumers are processes on this machine or pods of a cluster. They outlive the controller. The next one finds them, and
restarts consumers that have other settings or other modules of transforms, one after the other. A second controller of
the same group waits as a standby: it takes over when the first one ends, or has been silent for 10 s.
`restow down` ends a group on this machine.

It refuses to start if another group uses its topics, and says which line to write into restow.toml.
"""

EPILOG = """\
restow.toml:
  [kafka]
  bootstrap = "127.0.0.1:9092"
  [consume.orders]                     one table per topic, by name or by a regular expression that starts with ^
  table = "tables/orders.db"
  [consumer]
  capacity_bytes_per_s = 2000000       what one consumer sustains
  [controller]
  worth = 1.0                          how many capacities of speed may move to save one consumer
  [group]
  name = "orders"                      also the start of the names of restow's topics
  platform = "processes"               or "kubernetes": see docs/kubernetes.md
  [metrics]
  enabled = true                       /metrics, /healthz and /readyz on a free port of 127.0.0.1: see docs/metrics.md
  [log]
  format = "text"                      or "json", one object a line; lines go to stderr
  level = "info"                       or debug, warning, error

Every event and every decision is also written to the event log, a directory of compressed segments that is kept for
some days ([event_log]): `restow replay` runs it again and explains it.
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "controller", help="keep the group just large enough", description=DESCRIPTION, epilog=EPILOG
    )
    add_config(parser)
    parser.add_argument(
        "--log",
        type=Path,
        metavar="DIRECTORY",
        help="the event log (default: GROUP-controller/events in the directory of [processes], or in the temporary "
        "directory where consumers are pods); controllers that follow each other continue it",
    )
    parser.add_argument(
        "--take-over",
        action="store_true",
        help="take over at once from a controller that is in charge, which ends, and start consumers even if others of "
        "this group run elsewhere. For a person, not for a service that restarts by itself",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    settings = settings_of(args)
    if not settings.consume:
        raise InvalidInput(f"{args.config}: there is nothing to consume; write a table [consume.TOPIC] for each topic")
    configure("controller", settings.log)
    from restow.controller.journal import Journal
    from restow.kafka.channels.neighbours import TopicsInUse
    from restow.roles.controller import ControllerProcess

    stop, health, group = Stop(), Health(os.environ.get("RESTOW_SIGNS")), settings.group.name
    event_log = log_directory(args.log or default_log(settings))
    board = Board("controller", group)
    with ExitStack() as ending:
        ending.enter_context(serving(settings, board, health))
        should_stop = recorded("controller", settings, stop.wait, ending)
        platform = platform_of(settings, args.config, ending)
        lock = ending.enter_context(_lock(settings))
        process = f"{socket.gethostname()}-{os.getpid()}"
        journal = ending.enter_context(Journal(event_log, settings.event_log, process))
        log.info("the controller of group %s starts; its event log is %s", group, event_log)
        try:
            with stop.raising():
                prepare_consumers(settings)
                with waiting("the packer"):
                    load_packer()
        except Stopped:
            log.info("stopped before it was prepared")
            return 0
        code = code_of(settings, args.config)
        controller = ControllerProcess(settings, platform, journal, health, code, lock, board)
        try:
            controller.run(should_stop, take_over=args.take_over)
        except TopicsInUse as error:
            raise InvalidInput(f"{args.config}: {error}") from None
    return 0


def _lock(settings: Settings) -> "AbstractContextManager[ControllerLock | None]":
    """Where consumers are pods, controllers have no file in common."""
    if settings.group.platform == "kubernetes":
        return nullcontext()
    from restow.platform.processes.controllers import ControllerLock
    from restow.platform.processes.location import directory_of

    return ControllerLock(settings.group.name, directory_of(settings))


def prepare_consumers(settings: Settings) -> None:
    """Fetches and builds what local consumers on Spark need once on a machine. Otherwise the first consumer would do so
    while its time to become ready runs. Pods have it in their image."""
    if settings.group.platform != "processes" or settings.consumer.pipeline != "spark":
        return
    from restow.pipeline.spark.prepare import prepare_spark

    try:
        prepare_spark()
    except RestowError as error:
        log.warning("%s; each consumer retries it as it starts", error)


def code_of(settings: Settings, config: Path) -> "Code | None":
    """The modules that local consumers load. Those of pods are part of the pod template, see `with_config_digest`."""
    if settings.group.platform != "processes":
        return None
    from restow.platform.processes.location import directory_of
    from restow.platform.processes.reloading import ReloadRequests
    from restow.roles.local_code import Code

    requests = ReloadRequests(settings.group.name, directory_of(settings))
    return Code(lambda: local_modules(settings, config, os.environ).digest, requests.is_new)


def default_log(settings: Settings) -> Path:
    """In a pod only the temporary directory is writable."""
    from restow.platform.processes.location import directory_of

    is_pod = settings.group.platform == "kubernetes"
    directory = Path(tempfile.gettempdir()) if is_pod else directory_of(settings)
    return directory / f"{settings.group.name}-controller" / "events"


def log_directory(path: Path) -> Path:
    """Raises InvalidInput for a log of an older version, which was one file."""
    if path.exists() and not path.is_dir():
        raise InvalidInput(
            f"{path} is a file; the event log is a directory of segments, so name another one with --log "
            "(`restow replay FILE` still reads a file of an older version)"
        )
    return path


def platform_of(settings: Settings, config: Path, ending: ExitStack) -> "Platform":
    """Where consumers run. Whatever has to be closed afterwards is entered into `ending`."""
    if settings.group.platform == "kubernetes":
        from restow.platform.kubernetes.platform import KubernetesPlatform

        return ending.enter_context(KubernetesPlatform(with_config_digest(settings, config)))
    from restow.platform.processes.location import directory_of

    return local_processes(settings, config, directory_of(settings))


def local_processes(settings: Settings, config: Path, directory: Path) -> "LocalProcesses":
    from restow.platform.processes.platform import LocalProcesses

    group, file = settings.group.name, str(config.absolute())

    def command(consumer: ConsumerId, volume: Path, _: ConsumerSettings) -> Sequence[str]:
        name = f"{group}-consumer-{consumer}"
        # -P: modules are imported from the directory of restow.toml, and not from the working directory too.
        restow = (sys.executable, "-P", "-m", "restow")
        return (*restow, "consumer", "--config", file, "--name", name, "--volume", str(volume))

    return LocalProcesses(group, directory, command, settings.consumer.grace_s)
