"""`restow bench platform`: how soon many new consumers are accepted, ready and gone."""

import argparse
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.table import Column

from restow.cli.controller import local_processes
from restow.cli.support.config import settings_from
from restow.cli.support.options import Subparsers, list_of, one_of, whole_number
from restow.cli.support.output import note, print_json, progress, right, show, table
from restow.cli.support.stopping import interrupt_on_stop_signals
from restow.errors import InvalidInput, RestowError
from restow.model import ConsumerId
from restow.platform.interface import ConsumerFailing, ConsumerGone, CreateConsumer, DeleteConsumer, Platform
from restow.protocol.messages.consumer_events import ConsumerReady
from restow.scratch import temporary
from restow.settings import Settings

if TYPE_CHECKING:
    from restow.kafka.channels.controller import ControllerChannel

PLATFORMS: Final = ("processes", "kubernetes")
CONSUMERS: Final = 50
PUBLISHED_REQUESTS: Final = 20
"""The published figure: this many requests are accepted in less than a second."""
WITHIN_S: Final = 1800.0
LISTEN_S: Final = 0.1

DESCRIPTION = """\
Creates many consumers at once and measures until the platform has accepted all requests, until all consumers are ready,
and, after all are deleted, until they are gone. The consumers are light: the real process without Spark. The published
figure is less than 1 s until 20 requests are accepted.
"""

EPILOG = """\
`processes` needs nothing: it starts its own broker. `kubernetes` needs a restow.toml of a group without consumers and
controller, with [consumer] pipeline = "light" and an image, brokers that pods can reach, and the pods' ConfigMap:

  kubectl create configmap bench-config --from-file restow.toml
  restow bench platform --config restow.toml --platform kubernetes
"""


@dataclass(frozen=True, slots=True)
class Row:
    platform: str
    consumers: int
    requests_at_once: int
    first_accepted: int
    """The number of requests behind `first_accepted_s`: as many as in the published figure, if there are."""
    first_accepted_s: float
    accepted_s: float
    ready_s: float
    gone_s: float
    """From the first request to delete."""


def add(benches: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = benches.add_parser(
        "platform", help="time until many consumers are accepted, ready, gone", description=DESCRIPTION, epilog=EPILOG
    )
    parser.add_argument(
        "--platform",
        type=list_of(one_of(PLATFORMS, "platform")),
        metavar="NAME,…",
        help="processes, kubernetes or both (default: processes; both if there is a --config)",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="the settings of a group on Kubernetes, as TOML")
    parser.add_argument(
        "--consumers", type=whole_number(1), default=CONSUMERS, metavar="N", help=f"how many (default: {CONSUMERS})"
    )
    parser.add_argument("--json", action="store_true", help='print {"rows": […]} and nothing else')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    platforms: Sequence[str] = args.platform or (PLATFORMS if args.config else PLATFORMS[:1])
    settings = settings_from(args.config) if args.config else None
    if "kubernetes" in platforms:
        settings = _usable(settings)
    interrupt_on_stop_signals()
    rows = []
    for name in platforms:
        with _on_kubernetes(settings) if name == "kubernetes" and settings else _on_this_machine() as (place, platform):
            rows.append(_measured(name, place, platform, args.consumers))
    if args.json:
        print_json({"rows": [asdict(row) for row in rows]})
    else:
        _show(rows)
    return 0


def _usable(settings: Settings | None) -> Settings:
    if settings is None:
        raise InvalidInput("--platform kubernetes needs --config FILE, the settings of a group; see --help")
    if settings.consumer.pipeline != "light":
        raise InvalidInput('[consumer] pipeline must be "light" here: this measures the platform, not Spark')
    return settings


@contextmanager
def _on_this_machine() -> Iterator[tuple[Settings, Platform]]:
    """With its own broker; leaves nothing behind."""
    from restow.kafka.embedded.broker import EmbeddedKafka
    from restow.platform.processes.ending import end_group

    with temporary("bench") as scratch, EmbeddedKafka() as broker:
        directory, config = scratch / "data", scratch / "restow.toml"
        config.write_text(
            f'[kafka]\nbootstrap = "{broker.bootstrap}"\n[group]\nname = "bench"\n[consumer]\npipeline = "light"\n'
        )
        settings = settings_from(config)
        try:
            yield settings, local_processes(settings, config, directory)
        finally:
            end_group(settings.group.name, directory, settings.consumer.grace_s, lambda _: None)


@contextmanager
def _on_kubernetes(settings: Settings) -> Iterator[tuple[Settings, Platform]]:
    """Deletes volume claims with their consumers, whatever the settings say."""
    from restow.platform.kubernetes.platform import KubernetesPlatform

    settings = replace(settings, kubernetes=replace(settings.kubernetes, claims="delete"))
    with KubernetesPlatform(settings) as platform:
        yield settings, platform


def _measured(name: str, settings: Settings, platform: Platform, count: int) -> Row:
    from restow.kafka.admin import Admin
    from restow.kafka.channels.controller import ControllerChannel
    from restow.kafka.topics import grow_topics

    if there := platform.list():
        raise InvalidInput(f"group {settings.group.name} has {len(there)} consumers; name a group that has none")
    consumers = [ConsumerId(number) for number in range(1, count + 1)]
    with Admin(settings.kafka) as admin, ControllerChannel(settings, "bench") as channel:
        grow_topics(admin, settings.topics, count)
        channel.take_over()
        first = consumers[:PUBLISHED_REQUESTS]
        try:
            begun_s = time.monotonic()
            _take(platform, [CreateConsumer(consumer, settings.consumer.settings) for consumer in first])
            first_s = time.monotonic() - begun_s
            _take(
                platform, [CreateConsumer(consumer, settings.consumer.settings) for consumer in consumers[len(first) :]]
            )
            accepted_s = time.monotonic() - begun_s
            note(f"{name}: {count} accepted after {accepted_s:.2f} s; waiting until they are ready")
            _until(f"{name}: ready", consumers, lambda: _ready(channel, platform))
            ready_s = time.monotonic() - begun_s
        finally:
            deleted_s = time.monotonic()
            _take(platform, [DeleteConsumer(consumer) for consumer in consumers])
            _until(f"{name}: gone", consumers, lambda: _gone(platform))
    gone_s = time.monotonic() - deleted_s
    return Row(name, count, platform.at_once, len(first), first_s, accepted_s, ready_s, gone_s)


def _take(platform: Platform, requests: Sequence[CreateConsumer | DeleteConsumer]) -> None:
    """In parts of `at_once`, as the controller does."""
    for start in range(0, len(requests), platform.at_once):
        for refused in platform.take(requests[start : start + platform.at_once]):
            raise RestowError(f"the platform refused: {refused.reason}")


def _until(what: str, consumers: Sequence[ConsumerId], arrived: Callable[[], Collection[ConsumerId]]) -> None:
    left, deadline_s = set(consumers), time.monotonic() + WITHIN_S
    with progress(what, len(consumers)) as step:
        while left:
            for consumer in left & {*arrived()}:
                left.discard(consumer)
                step()
            if time.monotonic() > deadline_s:
                raise RestowError(f"{what}: {len(left)} of {len(consumers)} were not within {WITHIN_S:g} s")


def _ready(channel: "ControllerChannel", platform: Platform) -> Collection[ConsumerId]:
    for change in platform.changes():
        if isinstance(change, ConsumerFailing):
            note(f"consumer {change.consumer} fails: {change.reason}")
    return [read.message.consumer for read in channel.read(LISTEN_S) if isinstance(read.message, ConsumerReady)]


def _gone(platform: Platform) -> Collection[ConsumerId]:
    time.sleep(LISTEN_S)
    return [change.consumer for change in platform.changes() if isinstance(change, ConsumerGone)]


def _show(rows: Sequence[Row]) -> None:
    columns = ("consumers", "at once", "accepted s", "first 20 s", "ready s", "gone s")
    listing = table(
        Column("platform"),
        *map(right, columns),
        caption=f"published: {PUBLISHED_REQUESTS} requests accepted in less than 1 s",
    )
    for row in rows:
        first = f"{row.first_accepted_s:.2f}" if row.first_accepted == PUBLISHED_REQUESTS else "-"
        listing.add_row(
            row.platform,
            *(str(row.consumers), str(row.requests_at_once)),
            *(f"{row.accepted_s:.2f}", first, f"{row.ready_s:.1f}", f"{row.gone_s:.1f}"),
        )
    show(listing)
