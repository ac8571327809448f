"""`restow consumers list|set`: what consumers run as and how many there may be, for a running group."""

import argparse
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rich.table import Column

from restow.cli.support.config import CHANGE, add_change, add_config
from restow.cli.support.options import Subparsers
from restow.cli.support.output import print_json, right, show, table
from restow.errors import InvalidInput
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.messages.unions import OnService
from restow.protocol.records import CONSUMERS_KEY
from restow.text import sized

if TYPE_CHECKING:
    from restow.settings import Settings

DEFAULT: Final = "default"
UNITS: Final = {"": 1.0, "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9}

DESCRIPTION = """\
What the group's consumers run as, and how many there may be. `restow consumers COMMAND --help` explains each.
"""

LIST = """\
Shows every consumer, and each setting with where it comes from: restow.toml, or the service topic, which overrides it.
Changes nothing. It needs the right Read on <prefix>-service and <prefix>-status.
"""

SET = f"""\
Changes settings of the running group. They override restow.toml until they are set to `default`; settings that are not
named stay as they are.

  capacity=5MB     what one consumer sustains, in bytes/s of Kafka's log, fixed; the next plan uses it
  least=2 most=20  the group never has fewer consumers, or more
  memory_mb=2048   memory of each consumer in MiB           \\
  cores=2          CPU cores of each consumer                |  consumers are restarted one after the other
  image=restow:2   the container image, on Kubernetes       /

{CHANGE}"""

SET_EPILOG = """\
examples:
  restow consumers set most=40 --reason "sale on Friday"
  restow consumers set capacity=2.4MB least=2
  restow consumers set most=default
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("consumers", help="list consumers, or change their settings", description=DESCRIPTION)
    of_consumers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    listing = of_consumers.add_parser("list", help="show consumers and their settings", description=LIST)
    listing.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    add_config(listing)
    listing.set_defaults(run=list_)
    setting = of_consumers.add_parser("set", help="change settings", description=SET, epilog=SET_EPILOG)
    setting.add_argument("settings", nargs="+", type=_assignment, metavar="NAME=VALUE", help="a setting, as above")
    add_change(setting)
    setting.set_defaults(run=set_)


def _size(text: str) -> float:
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?(B|kB|MB|GB)?(?:/s)?", text)
    if not found or float(found[1]) == 0:
        raise ValueError("a number of bytes/s above 0, like 5MB, 800kB or 2400000")
    return float(found[1]) * UNITS[found[2] or ""]


def _whole(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise ValueError("a whole number")
    return int(text)


def _number(text: str) -> float:
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        raise ValueError("a number, like 2 or 0.5")
    return float(text)


NAMES: Final[dict[str, tuple[str, Callable[[str], object]]]] = {
    "capacity": ("capacity_bytes_per_s", _size),
    "least": ("least_consumers", _whole),
    "most": ("most_consumers", _whole),
    "memory_mb": ("memory_mb", _whole),
    "cores": ("cores", _number),
    "image": ("image", str),
}
"""The name of each setting here, its field in ConsumerSettings, and how its value is read."""


def _assignment(text: str) -> tuple[str, object]:
    """The field and its value; None for `default`. For argparse's `type=`."""
    name, equals, value = text.partition("=")
    if not equals or name not in NAMES:
        known = ", ".join(f"{each}=…" for each in NAMES)
        raise argparse.ArgumentTypeError(f"'{text}' can't be used; it must be one of {known}")
    field, read = NAMES[name]
    if value == DEFAULT:
        return field, None
    try:
        return field, read(value)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{name} is '{value}'; it must be {error}, or {DEFAULT}") from None


def set_(args: argparse.Namespace) -> int:
    # Kafka's client takes longer to load than most commands take to run, so only this command loads it.
    from restow.cli.support.desired import Desk

    with Desk(args) as desk:
        changes = dict(args.settings)
        wanted = replace(_present(desk.services), **changes)
        _check(wanted, desk.settings)
        update = ServiceUpdate("consumers", consumers=wanted, **desk.author.fields())
        words = ", ".join(f"{_name_of(field)}={_text(field, value)}" for field, value in changes.items())
        return desk.write(update, f"consumers {words}")


def _check(wanted: ConsumerSettings, settings: "Settings") -> None:
    """What the update leaves out comes from restow.toml: both together must make sense."""
    rules = settings.controller
    least = rules.least_consumers if wanted.least_consumers is None else wanted.least_consumers
    most = rules.most_consumers if wanted.most_consumers is None else wanted.most_consumers
    if most is not None and least > most:
        raise InvalidInput(f"least={least} is above most={most}; set both, or one to {DEFAULT}")


def _present(services: Mapping[str, OnService]) -> ConsumerSettings:
    """The settings on the service topic. Its newest record replaces those before it, so that changes are merged."""
    found = services.get(CONSUMERS_KEY)
    if isinstance(found, ServiceUpdate) and found.consumers is not None:
        return found.consumers
    return ConsumerSettings()


def list_(args: argparse.Namespace) -> int:
    from restow.cli.support.desired import Desk

    with Desk(args) as desk:
        settings, running = desk.settings, {} if desk.picture is None else desk.picture.consumers
        rows = list(_settings(_present(desk.services), settings))
    if args.json:
        names = {name: {"value": value, "from": source} for name, value, source in rows}
        consumers = {str(number): {"state": each.phase, "outdated": each.outdated} for number, each in running.items()}
        print_json({"group": settings.group.name, "settings": names, "consumers": consumers})
        return 0
    listing = table(Column("setting"), right("value"), Column("from"), caption=f"group {settings.group.name}")
    for name, value, source in rows:
        listing.add_row(name, _text(NAMES[name][0], value), source)
    consumers_table = table(right("consumer"), Column("state"), right("partitions"), right("load"), Column("settings"))
    for number, status in running.items():
        older = "older ones" if status.outdated else "current"
        load = f"{sized(status.load_bytes_per_s)}/s"
        consumers_table.add_row(str(number), status.phase, str(status.partitions), load, older)
    show(listing, consumers_table)
    return 0


def _settings(update: ConsumerSettings, settings: "Settings") -> Iterator[tuple[str, object, str]]:
    """Name, value and source of each."""
    for name, (field, _) in NAMES.items():
        own = getattr(update, field)
        base = settings.controller if field in ("least_consumers", "most_consumers") else settings.consumer
        yield name, getattr(base, field) if own is None else own, "restow.toml" if own is None else "service topic"


def _name_of(field: str) -> str:
    return next(name for name, (of, _) in NAMES.items() if of == field)


def _text(field: str, value: object) -> str:
    if value is None:
        return DEFAULT
    if field == "capacity_bytes_per_s" and isinstance(value, float):
        return f"{sized(value)}/s"
    return f"{value:g}" if isinstance(value, float) else str(value)
