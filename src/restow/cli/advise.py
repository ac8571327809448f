"""`restow advise`: looks at any consumer group, read-only, and says how large it should be and what others would do."""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Column, Table

from restow.cli.support.config import DEFAULT, settings_from
from restow.cli.support.kafka_options import add_properties, kafka_given
from restow.cli.support.options import Subparsers, duration, list_of, number
from restow.cli.support.output import print_json, right, show, table
from restow.cli.support.packer import load_packer
from restow.errors import InvalidInput
from restow.settings import START_CAPACITY_BYTES_PER_S, Controller, Kafka
from restow.study.plot_file import check_plot_file
from restow.text import percent, sized

if TYPE_CHECKING:
    from restow.advice.advice import Advice
    from restow.advice.ways import Way
    from restow.model import ConsumerId

WATCH_S = 60.0
BAR = 20
"""Characters of a bar that is full at a consumer's capacity."""
SHOWN_MEMBERS = 30

DESCRIPTION = """\
Looks at any consumer group, whatever its consumers are written in, and advises: how many consumers its load needs, how
skewed it is, what idle ones cost, and what KEDA, Kafka's assignors and restow would do with it. Prints words and two
tables; --plot draws a picture.

It watches for a while: how fast every partition is written, by the code of `restow monitor`, what members commit, and
the lag. It joins no group, commits nothing and changes nothing. The group needs no change and no restart.
"""

EPILOG = f"""\
What one consumer sustains decides the number. A member with a backlog reads as fast as it can, and shows it. Without
a backlog the watch shows only what a consumer sustains at least, and the number is an upper limit; watch at a busy
hour, or measure it and give --capacity.

The ways in the second table:
  KEDA                   its Kafka scaler: lag / lagThreshold, at most one for each partition; and with
                         ensureEvenDistributionOfPartitions
  Kafka, …               the fewest consumers at which no member is filled above {Controller().fill_to:.0%}
  restow                 what its controller would decide, with the default settings, from the present assignment
A move is a partition that gets another consumer.

Rights in Kafka: Describe on the group and on its topics. With Describe on the cluster, speeds are exact; without it
they are estimated from records, which takes Read on the topics.

--json prints {{"group", "watched_s", "state", "protocol", "assignor", "capacity", "needed_consumers", "needed_at_peak",
"idle_members", "spare_members", "spare_consumer_hours_per_month", "skew", "totals", "members", "partitions", "lag",
"ways", "advice"}}. Speeds are bytes/s, loads are shares of a consumer's capacity.

examples:
  restow advise --group payments --bootstrap broker-1:9092
  restow advise --group payments --for 10m --plot payments.png         brokers from ./restow.toml
  restow advise --group payments --capacity 5000000 --price 0.12       12 cents per consumer and hour
  restow advise --group payments --bootstrap kafka:9093 --property security.protocol=SASL_SSL \\
      --property sasl.mechanisms=PLAIN --property sasl.username=reader --property 'sasl.password=${{KAFKA_PASSWORD}}'
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "advise", help="say how large any consumer group should be", description=DESCRIPTION, epilog=EPILOG
    )
    option = parser.add_argument
    option("--group", required=True, metavar="NAME", help="any consumer group of the cluster")
    option(
        "--for",
        dest="seconds",
        type=duration,
        default=WATCH_S,
        metavar="TIME",
        help=f"how long to watch, like 60s, 10m or 1h (default: {WATCH_S:g}s)",
    )
    option("--bootstrap", metavar="HOST:PORT", help=f"the brokers (default: those of {DEFAULT})")
    add_properties(parser)
    option("--config", type=Path, metavar="FILE", help=f"takes the brokers from [kafka] (default: ./{DEFAULT})")
    option("--topics", type=list_of(str), default=(), metavar="A,B", help="topics that the group's offsets don't show")
    option("--capacity", type=number(above=0), metavar="B", help="what one consumer sustains, in bytes/s")
    option("--price", type=number(0), metavar="P", help="what a consumer costs an hour, in your currency")
    option(
        "--lag-threshold",
        type=number(above=0),
        default=10.0,
        metavar="N",
        help="KEDA's lagThreshold, in records (default: 10, as KEDA's)",
    )
    option("--plot", type=Path, metavar="FILE", help="draw the group, and what others would do, as .png or .svg")
    option("--json", action="store_true", help="print one JSON object and nothing else")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    if args.plot:
        check_plot_file(args.plot)
    kafka = _kafka(args)
    load_packer()
    # Kafka's client takes longer to load than most commands take to run.
    from restow.advice.advice import advice_for
    from restow.advice.capacity import capacity_of
    from restow.cli.support.group_watch import watched
    from restow.packing import PACKERS

    facts = watched(kafka, args.group, args.topics, args.seconds)
    capacity = capacity_of(facts, args.capacity, START_CAPACITY_BYTES_PER_S)
    advice = advice_for(facts, capacity, Controller(), PACKERS["restow"], args.lag_threshold, args.price)
    if args.plot:
        _draw(advice, args.plot)
    if args.json:
        print_json(as_json(advice))
    else:
        _show(advice, kafka.bootstrap)
    return 0


def _kafka(args: argparse.Namespace) -> Kafka:
    if args.bootstrap:
        return kafka_given(args.bootstrap, dict(args.property), Path(), "restow advise")
    if args.property:
        raise InvalidInput("--property goes with --bootstrap; without it, [kafka] of restow.toml has the properties")
    if args.config is None and not DEFAULT.exists():
        raise InvalidInput(f"there is no ./{DEFAULT} that says where Kafka is; name the brokers: --bootstrap HOST:PORT")
    return settings_from(args.config or DEFAULT).kafka


def _draw(advice: "Advice", file: Path) -> None:
    # Loading matplotlib takes a second, so only --plot loads it.
    from restow.study.advice_plot import picture
    from restow.study.plots import save

    save(picture(advice), file)


# Words and tables.


def _show(advice: "Advice", bootstrap: str) -> None:
    from restow.advice.sentences import observations, verdict

    facts = advice.facts
    show(f"{facts.group} on {bootstrap}, watched for {facts.watched_s:.0f} s\n")
    for label, words in observations(advice):
        show(f"  {label:<10}{words}")
    if facts.members:
        show(_member_table(advice))
    show(_way_table(advice.ways))
    for sentence in verdict(advice):
        show(sentence)


def _member_table(advice: "Advice") -> Table:
    facts = advice.facts
    loads = facts.assignment.loads(facts.speeds)
    busiest_first = sorted(loads, key=lambda number: (-loads[number], number))
    hidden = len(busiest_first) - SHOWN_MEMBERS
    shown = table(
        Column("member", no_wrap=True),
        Column("host", no_wrap=True),
        *map(right, ("partitions", "written/s", "read/s", "lag")),
        Column("load", no_wrap=True),
        caption=f"and {hidden} more, less busy" if hidden > 0 else None,
    )
    for consumer in busiest_first[:SHOWN_MEMBERS]:
        shown.add_row(*_member_cells(advice, consumer, loads[consumer]))
    return shown


def _member_cells(advice: "Advice", number: "ConsumerId", load: float) -> tuple[str, ...]:
    facts, member = advice.facts, advice.facts.members[number]
    return (
        member.name,
        member.host,
        f"{len(member.partitions)}",
        sized(load),
        sized(facts.read_bytes_per_s(number)),
        f"{facts.lag_of(number):,}",
        "idle" if not member.partitions else bar(load / advice.capacity.bytes_per_s),
    )


def bar(share: float) -> str:
    """A bar that is full at the capacity, and the share in per cent."""
    full = min(BAR, math.floor(share * BAR + 0.5))
    return f"{'█' * full}{'░' * (BAR - full)} {share:4.0%}"


def _way_table(ways: Sequence["Way"]) -> Table:
    shown = table(
        Column("way", no_wrap=True),
        *map(right, ("consumers", "idle", "overloaded", "busiest", "moves")),
        Column(""),
    )
    for way in ways:
        cells = (f"{way.consumers}", f"{way.idle}", f"{way.overloaded}", percent(round(way.busiest, 2)), f"{way.moves}")
        shown.add_row(way.name, *cells, way.note, style="bold" if way.name == "restow" else None)
    return shown


# JSON.


def as_json(advice: "Advice") -> dict[str, object]:
    from restow.advice.advice import HOURS_PER_MONTH
    from restow.advice.sentences import verdict

    facts, skew = advice.facts, advice.skew
    return {
        "group": facts.group,
        "watched_s": round(facts.watched_s, 3),
        "state": facts.state,
        "protocol": facts.protocol,
        "assignor": facts.assignor,
        "capacity": {
            "bytes_per_s": round(advice.capacity.bytes_per_s, 1),
            "source": advice.capacity.source,
            "is_at_least": advice.capacity.is_at_least,
        },
        "needed_consumers": advice.needed,
        "needed_at_peak": advice.needed_at_peak,
        "idle_members": len(advice.idle),
        "spare_members": advice.spare,
        "spare_consumer_hours_per_month": advice.spare * HOURS_PER_MONTH,
        "skew": {
            "busiest_times_the_mean": round(skew.times_the_mean, 3),
            "fastest_partition": None if skew.fastest is None else str(skew.fastest),
            "fastest_of_capacity": round(skew.fastest_of_capacity, 4),
            "fastest_of_total": round(skew.fastest_of_total, 4),
        },
        "totals": {
            "bytes_per_s": round(facts.speeds.total, 1),
            "peak_bytes_per_s": round(facts.peak_bytes_per_s, 1),
            "records_per_s": round(facts.records_per_s, 1),
            "lag_records": facts.lag_records,
        },
        "members": [_member_json(advice, number) for number in facts.members],
        "partitions": [
            {
                "partition": str(partition),
                "bytes_per_s": round(each.bytes_per_s, 1),
                "records_per_s": round(each.records_per_s, 1),
                "read_records_per_s": round(each.read_records_per_s, 1),
                "lag_records": each.lag_records,
            }
            for partition, each in facts.partitions.items()
        ],
        "lag": [{"time_s": round(time_s, 1), "records": records} for time_s, records in facts.lags],
        "ways": [_way_json(way) for way in advice.ways],
        "advice": list(verdict(advice)),
    }


def _member_json(advice: "Advice", number: "ConsumerId") -> dict[str, object]:
    facts, member = advice.facts, advice.facts.members[number]
    written = sum(facts.speeds.get(partition, 0.0) for partition in member.partitions)
    return {
        "member": member.id,
        "client": member.client,
        "host": member.host,
        "partitions": [str(partition) for partition in member.partitions],
        "written_bytes_per_s": round(written, 1),
        "read_bytes_per_s": round(facts.read_bytes_per_s(number), 1),
        "lag_records": facts.lag_of(number),
        "load": round(written / advice.capacity.bytes_per_s, 4),
    }


def _way_json(way: "Way") -> dict[str, object]:
    return {
        "way": way.name,
        "consumers": way.consumers,
        "idle": way.idle,
        "overloaded": way.overloaded,
        "busiest": round(way.busiest, 4),
        "moves": way.moves,
        "note": way.note,
    }
