"""`restow bench consumer`: what one consumer carries at full load, beside what people would use instead."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.table import Column

from restow.cli.bench.outputs import add_contenders, add_outputs, begin, not_measured
from restow.cli.controller import local_processes
from restow.cli.support.config import settings_from
from restow.cli.support.options import Subparsers, list_of, number, one_of
from restow.cli.support.output import note, print_json, right, show, table
from restow.errors import InvalidInput
from restow.platform.interface import Platform
from restow.settings import Settings
from restow.study.throughput import (
    CASES,
    CONTENDERS,
    RESTOW,
    Row,
    joined,
    ratios,
    result,
)
from restow.text import percent

if TYPE_CHECKING:
    from restow.throughput.measuring import Measured
    from restow.throughput.run import Outcome

FULL_S: Final = 60.0
QUICK_S: Final = 30.0
QUICK: Final = ("base",)

BUSY: Final = 0.1
"""Above this share of a contender's core, taken by others, its speed is not that of an idle machine."""

DESCRIPTION = """\
Measures the throughput of one consumer at full load, and in the same run that of its peers on the same records:

  restow           the real consumer, as a platform starts it, at its default settings
  streaming        Spark Structured Streaming into Delta, with defaults and 100,000 records a trigger
  streaming-tuned  the same with snapshotPartitions=1, few shuffle partitions, max.poll.records 5,000 and 200,000
                   records a trigger
  loop             a hand-written loop: confluent-kafka, Polars, delta-rs
  bare             confluent-kafka, which reads and does nothing with the records

Each reads JSON records from embedded brokers, parses them, drops one of ten and commits the others to a Delta table
(the bare client doesn't). The topics are filled beforehand, so that no contender waits for records. A contender runs on
the machine's last core, the brokers on the others; in a case of two cores, a machine that has no more shares them
between both. Its speed is taken from the commits in its tables, after a warm-up of a minute: from one commit to a later
one. CPU time and memory (PSS) are those of all of its processes. At the end restow gets a Stop for all partitions, and
the time until it answers is shown. Its rows are checked afterwards: none missing, none doubled. The exit code is 1 if
that check fails, or if restow can't be measured.
"""

EPILOG = """\
The last line is the capacity to write into restow.toml, in bytes of Kafka's log per second, with its spread: the speeds
of the sixths of the run. Measure it on a machine like yours, with records like yours; the scaling depends on it.

cases (--only):
  base        1 kB records, 8 partitions, one topic, one table, one broker, one core; all contenders
  sizes       150 B and 10 kB records
  partitions  1, 32 and 144 partitions
  brokers     8 and 144 partitions on three brokers
  topics      5 topics into one table
  tables      5 topics into 5 tables, with 40 and 144 partitions
  cores       two cores for the consumer

Structured Streaming takes part in base, in sizes and in two others. The loop and the bare client have no JVM to warm
up, and read the topics again when they reach the end. All cases take about an hour and 30 GB of disk at most, --quick
a few minutes and 8 GB. A peer that is not available is left out with a line that says so: Polars is installed with
`pip install 'restow[bench]'`, and Delta's jars are fetched on first use.

examples:
  restow bench consumer --quick
  restow bench consumer --only tables,sizes --contender restow,loop --seconds 30
  restow bench consumer --json > all.json
  restow bench consumer --join base.json,tables.json --plot throughput.png     draws earlier results, measures nothing
"""


def add(benches: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = benches.add_parser(
        "consumer", help="throughput of a consumer, beside its peers", description=DESCRIPTION, epilog=EPILOG
    )
    parser.add_argument("--quick", action="store_true", help=f"the base case alone, with --seconds {QUICK_S:g}")
    parser.add_argument(
        "--only",
        type=list_of(one_of(CASES, "case")),
        metavar="CASE,…",
        help=f"any of {', '.join(CASES)} (default: all)",
    )
    add_contenders(parser, "--contender", CONTENDERS, "NAME,…")
    parser.add_argument(
        "--seconds",
        type=number(above=0.0),
        metavar="S",
        help=f"how long a speed is taken (default: {FULL_S:g})",
    )
    parser.add_argument(
        "--warm-up",
        type=number(above=0.0),
        metavar="S",
        help="how long a contender runs before its speed is taken: a young JVM is slow (default: as --seconds)",
    )
    add_outputs(parser, '{"rows": […], "capacity_bytes_per_s": N}', "the speeds")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    begin(args)
    outcomes = [] if args.join else _measured(args)
    rows, found = joined(args.join) if args.join else _result(outcomes)
    if args.plot:
        from restow.study.plots import save
        from restow.study.throughput_plot import picture

        save(picture(rows), args.plot)
    if args.json:
        print_json(result(rows, found))
    else:
        _show(rows)
        if found is not None and not outcomes:
            show(_setting(found))
    for line in _details(outcomes):
        note(line) if args.json else show(line)
    return exit_code(outcomes)


def exit_code(outcomes: "Sequence[Outcome]") -> int:
    """1 if restow has failed in a case, or stored a wrong row; the lines on stderr say why."""
    return int(any(outcome.contender == RESTOW and outcome.measured is None for outcome in outcomes))


def _measured(args: argparse.Namespace) -> "list[Outcome]":
    from restow.throughput.measuring import Timing
    from restow.throughput.run import run as measure

    seconds = args.seconds or (QUICK_S if args.quick else FULL_S)
    cases = {
        case: [name for name in names if name in args.contender]
        for kind in args.only or (QUICK if args.quick else CASES)
        for case, names in CASES[kind].items()
    }
    if not (wanted := {case: names for case, names in cases.items() if names}):
        raise InvalidInput("none of the contenders takes part in these cases; see --help")
    outcomes = []
    for outcome in measure(wanted, Timing(args.warm_up or seconds, seconds), local_platform, note):
        outcomes.append(outcome)
        if outcome.measured:
            note(_line(outcome.measured))
    return outcomes


def local_platform(config: Path, directory: Path) -> tuple[Settings, Platform]:
    settings = settings_from(config)
    return settings, local_processes(settings, config, directory)


def _result(outcomes: "Sequence[Outcome]") -> tuple[list[Row], int | None]:
    rows = [outcome.measured.row for outcome in outcomes if outcome.measured]
    if not rows:
        raise not_measured()
    return rows, next((outcome.capacity.bytes_per_s for outcome in outcomes if outcome.capacity), None)


def _line(measured: "Measured") -> str:
    row, pieces = measured.row, measured.speed
    low, high = (each * row.record_bytes / 1e6 for each in (pieces.slowest_per_s, pieces.fastest_per_s))
    dry = "; it stored all there was before the time was over" if measured.ran_dry else ""
    # With two cores the brokers may share them.
    is_busy = row.cores == 1 and measured.others_share > BUSY
    busy = f"; BUSY: other processes took {measured.others_share:.0%} of its core" if is_busy else ""
    stop = "" if measured.stop_s is None else f"; a Stop was answered after {measured.stop_s:.1f} s"
    return (
        f"{row.contender}, {row.case}: {row.mb_per_s:.1f} MB/s ({low:.1f} to {high:.1f}); first commit after "
        f"{measured.first_commit_s:.1f} s, then one every {measured.cycle_s:.1f} s{stop}{dry}{busy}"
    )


def _show(rows: Sequence[Row]) -> None:
    columns = ("MB/s", "records/s", "CPU s/GB", "memory MB", "restow is")
    listing = table(Column("case"), Column("contender"), *map(right, columns))
    factors, last = ratios(rows), None
    for row in rows:
        factor = factors.get(row.case, {}).get(row.contender)
        listing.add_row(
            str(row.case) if row.case != last else "",
            row.contender,
            *(f"{row.mb_per_s:.1f}", f"{row.records_per_s:,.0f}", f"{row.cpu_s_per_gb:.1f}", f"{row.memory_mb:,.0f}"),
            "" if factor is None else f"{factor:.2f} x",
        )
        last = row.case
    show(listing)


def _details(outcomes: "Sequence[Outcome]") -> Iterator[str]:
    """Where restow's time goes, and its capacity."""
    for outcome in outcomes:
        if outcome.contender == RESTOW and outcome.measured:
            steps, threads = outcome.measured.steps, outcome.measured.threads
            yield f"{outcome.case}: time of restow's cycles: {_shares(steps)}"
            yield f"  its CPU time: {_shares(threads)}"
    capacities = [outcome.capacity for outcome in outcomes if outcome.capacity]
    if capacities:
        first, slowest = capacities[0], min(capacities, key=lambda each: each.bytes_per_s)
        yield _setting(first.bytes_per_s)
        yield f"  {first.case}; between {_mb(first.lowest_bytes_per_s)} and {_mb(first.highest_bytes_per_s)} in the run"
        if len(capacities) > 1:
            yield f"  the slowest case, {slowest.case}, has {_mb(slowest.bytes_per_s)}"


def _setting(bytes_per_s: int) -> str:
    """The line of restow.toml, rounded down to two digits."""
    unit = 10 ** max(0, len(str(bytes_per_s)) - 2)
    return f"[consumer] capacity_bytes_per_s = {bytes_per_s // unit * unit}"


def _mb(bytes_per_s: float) -> str:
    return f"{bytes_per_s / 1e6:.1f} MB/s"


def _shares(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {percent(round(share, 3))}" for name, share in shares.items()) or "not known"
