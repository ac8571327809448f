"""`restow simulate`: the real controller and consumer machines in a seeded world, with a workload and faults."""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from multiprocessing.pool import Pool
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Column

from restow.cli.support.options import Subparsers, list_of, number, one_of, setting, whole_number
from restow.cli.support.output import note, print_json, progress, right, show, table
from restow.cli.support.packer import load_packer
from restow.errors import InvalidInput, RestowError
from restow.simulator.scenario import HOUR_S, TRACE_STEP_S, Level, Scenario, scenario
from restow.simulator.workloads import GENERATORS, RARE
from restow.study.plot_file import check_plot_file

if TYPE_CHECKING:
    from restow.model import Speeds
    from restow.simulator.measures import Series
    from restow.simulator.summary import Summary
    from restow.simulator.world import SimulatedRun

DEFAULT_HOURS = 0.5
DEFAULT_CAPACITY = 1_000_000.0
SLICES = 12
"""Lines of the table over time."""
SHOWN_FAILURES = 10

DESCRIPTION = f"""\
Runs the real state machines of controller and consumers in a simulated world: Kafka, platform, tables, clock and
producers come from a seed, and the same seed gives the same run on every machine. Prints consumers over time and their
cost, moves and pauses, latency, overload and backlog. Checkers watch for what must never happen (docs/simulator.md); a
violation is printed with the command that repeats it, and the exit code is 1.

  --workload  daily (a wave; a run shorter than a day has a whole one), bursts, skew (Zipf), growth, flash-crowd,
              outage (of the producers), or FILE: a trace of your own load. It is a JSON array with one object for each
              {TRACE_STEP_S:g} s, with the speed of every partition in bytes/s: [{{"orders": {{"0": 812.5, "1": 90}}}},
              …]. `restow record FILE` writes one
  --faults    crashes, hangs, zombies, lost volumes, outages, a platform that lies, two controllers at once and more:
              `some` is about one a minute, `many` two. They end some minutes before the run, and the group must recover

Anything not given is drawn from the seed: 5 to 14 partitions, a workload, kinds of tables, settings.

--compare runs other ways over the same loads, beside the real controller: KEDA's Kafka scaler, Kafka's assignors at
fixed sizes, Flink's and uForwarder's autoscalers, and the published packers MWF and BFD at every interval. One model
accounts for all of them: backlog, latency, overload, cost. Every policy is tuned on --seed and shown on the --seeds
from 100 after it on. Then it says which of restow's targets are met, and which are missed. docs/comparison.md has the
rules, sources and figures.
--sweep does the same with restow alone, and one setting at several values. """

EPILOG = """\
examples:
  restow simulate --seed 7 --faults many
  restow simulate --hours 24 --partitions 200 --workload daily --plot day.png
  restow simulate --hours 1 --partitions 10000 --workload bursts --json
  restow simulate --seeds 5000 --faults many          on all cores
  restow simulate --seed 7 --faults many --picture group.json --at 600 && restow status --from group.json
  restow record --for 24h day.json && restow simulate --workload day.json
  restow simulate --compare --plot compare.png        all policies over all workloads: some minutes
  restow simulate --compare --workload day.json       over your own trace
  restow simulate --compare --quick --times start_s=60
  restow simulate --sweep look_every_s=5,10,30,60,120

With --compare, --json prints {"rows": [{"policy", "workload", "consumer_hours", "moves", "latency_p99_s",
"overloaded_consumer_s"}, …]}, the mean of the seeds that are shown (--seeds, 2 by default). With --sweep,
{"setting", "rows": [{"value", "workload", …}]}.

Otherwise --json prints one object: seed, consumer_hours, consumers_mean, consumers_max, moves, pause_p50_s,
pause_p99_s, latency_p50_s, latency_p99_s, overloaded_consumer_s, backlog_max_bytes, violations. With --seeds: seeds
(first and last), runs, and violations, each with its seed and command.
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "simulate", help="run the real machines in a simulated world", description=DESCRIPTION, epilog=EPILOG
    )
    option = parser.add_argument
    option("--seed", type=whole_number(0), default=1, metavar="N", help="seed of all random choices (default: 1)")
    option("--seeds", type=whole_number(1), metavar="N", help="run N seeds, starting with --seed, on all cores")
    option("--jobs", type=whole_number(1), metavar="N", help="processes for many runs (default: one per core)")
    option("--hours", type=number(above=0), metavar="H", help="simulated hours (default: 0.5, or the whole trace)")
    option("--partitions", type=whole_number(1), metavar="N", help="number of partitions, about twenty per consumer")
    option("--workload", metavar="|".join((*GENERATORS, *RARE, "FILE")), help="how fast partitions are written")
    option(
        "--faults",
        type=one_of(tuple(Level), "level of faults"),
        default=Level.NONE,
        metavar="|".join(Level),
        help="how much goes wrong (default: none)",
    )
    option(
        "--capacity",
        type=number(above=0),
        default=DEFAULT_CAPACITY,
        metavar="B",
        help="what one consumer carries, in bytes/s (default: 1000000)",
    )
    option(
        "--learn",
        action="store_true",
        help="give no capacity: machines differ, drift, share cores and lie, and the group learns what they carry",
    )
    option("--json", action="store_true", help="print one JSON object and nothing else")
    option(
        "--picture",
        type=Path,
        metavar="FILE",
        help="write the group's picture, for `restow status --from FILE` and `restow explain --from FILE`",
    )
    option("--at", type=number(above=0), metavar="S", help="seconds into the run of --picture (default: its end)")
    option("--plot", type=Path, metavar="FILE", help="draw the run over time, or the comparison, as .png or .svg")
    option("--compare", action="store_true", help="other ways over the same loads, each tuned, with restow beside them")
    option(
        "--sweep",
        type=_sweep,
        metavar="NAME=V,V",
        help="restow with a setting of [controller] or [consumer] at several values",
    )
    option(
        "--set",
        type=setting,
        action="append",
        default=[],
        metavar="NAME=V",
        help="with --sweep: another setting that differs from its default; may be repeated",
    )
    option("--quick", action="store_true", help="with --compare or --sweep: half an hour each and one seed")
    option(
        "--times",
        type=list_of(_time),
        default=(),
        metavar="NAME=S,…",
        help="with --compare or --sweep: other start, cycle and pause times, like start_s=40,kip848_join_s=2",
    )
    parser.set_defaults(run=run)


def _sweep(text: str) -> tuple[str, tuple[str, ...]]:
    name, values = setting(text)
    return name, tuple(dict.fromkeys(value.strip() for value in values.split(",")))


def _time(text: str) -> tuple[str, float]:
    name, value = setting(text)
    return name, number(0)(value)


def run(args: argparse.Namespace) -> int:
    if args.compare or args.sweep:
        return _study(args)
    if args.plot:
        check_plot_file(args.plot)
        if args.seeds:
            raise InvalidInput("--plot draws one run; leave out --seeds, or --plot")
    if args.picture and args.seeds:
        raise InvalidInput("--picture is of one run; leave out --seeds, or --picture")
    if args.at is not None and not args.picture:
        raise InvalidInput("--at is the time of a picture; name its file with --picture")
    if args.learn and args.capacity != DEFAULT_CAPACITY:
        raise InvalidInput("--capacity gives what --learn would learn; leave one of them out")
    make = _maker(args)
    load_packer()
    if args.seeds:
        return _search(args, make)
    return _single(args, make(args.seed))


def _maker(args: argparse.Namespace) -> "partial[Scenario]":
    trace: tuple[Speeds, ...] | None = None
    hours, workload = args.hours, args.workload
    if workload is not None and workload not in (*GENERATORS, *RARE):
        from restow.study.workload import read_trace

        file = Path(workload)
        if not file.suffix and not file.exists():
            raise InvalidInput(
                f"--workload: there is no workload or file '{workload}'; known are {', '.join((*GENERATORS, *RARE))}"
            )
        if args.partitions is not None:
            note("--partitions is not used: the trace has its own")
        trace, workload = read_trace(file).steps, None
        hours = hours or len(trace) * TRACE_STEP_S / HOUR_S
    return partial(
        scenario,
        hours=hours or DEFAULT_HOURS,
        partitions=args.partitions,
        workload=workload,
        faults=Level(args.faults),
        trace=trace,
        capacity_bytes_per_s=args.capacity,
        learns=args.learn,
    )


def _command(args: argparse.Namespace, seed: int) -> str:
    """The command that repeats a run."""
    words = [f"restow simulate --seed {seed} --faults {args.faults}"]
    for name in ("hours", "partitions", "workload"):
        value = getattr(args, name)
        words += [] if value is None else [f"--{name} {value:g}" if name == "hours" else f"--{name} {value}"]
    words += [] if args.capacity == DEFAULT_CAPACITY else [f"--capacity {args.capacity:g}"]
    words += ["--learn"] if args.learn else []
    return " ".join(words)


def _study(args: argparse.Namespace) -> int:
    if args.compare and args.sweep:
        raise InvalidInput("--compare and --sweep are two studies; leave one out")
    if args.picture or args.faults != Level.NONE:
        raise InvalidInput("--compare and --sweep have neither faults nor a picture; leave out --faults and --picture")
    if args.set and not args.sweep:
        raise InvalidInput("--set goes with --sweep; --compare tunes every policy itself")
    if args.plot:
        check_plot_file(args.plot)
    load_packer()
    from restow.cli.support.comparing import compare, sweep

    workers = partial(_workers, args.jobs)
    return compare(args, workers) if args.compare else sweep(args, workers)


# One run.


def _single(args: argparse.Namespace, chosen: Scenario) -> int:
    from restow.simulator.summary import summary
    from restow.simulator.world import run as play

    at_s = None
    if args.picture:
        at_s = chosen.duration_s if args.at is None else args.at
        if at_s > chosen.duration_s:
            raise InvalidInput(f"--at is {at_s:g}; the run ends after {chosen.duration_s:g} s")
    outcome = play(chosen, picture_at_s=at_s)
    found = summary(outcome)
    if at_s is not None:
        _write_picture(outcome, args.picture, at_s)
    if args.plot:
        _draw(outcome, args.plot)
    if args.json:
        print_json(asdict(found))
    else:
        _show(outcome, found)
    for violation in found.violations:
        note(f"violation of {violation}")
    if found.violations:
        note(f"to repeat it: {_command(args, chosen.seed)}")
    return 1 if found.violations else 0


def _write_picture(outcome: "SimulatedRun", file: Path, at_s: float) -> None:
    from restow.cli.support.picture_file import Snapshot, write_snapshot

    found = outcome.picture
    if found is None:
        raise RestowError(f"no controller had published a picture at {at_s:g} s; choose a later time with --at")
    write_snapshot(file, Snapshot(found.picture, found.age_s).plain())
    note(f"the group at {at_s:g} s is in {file}; look at it with `restow status --from {file}`")


def _draw(outcome: "SimulatedRun", file: Path) -> None:
    # Loading matplotlib takes as long as a small run, so only --plot loads it.
    from restow.study.plots import save
    from restow.study.simulation_plot import picture

    chosen = outcome.scenario
    save(picture(outcome.measures.series, chosen.capacity_bytes_per_s, _in_words(chosen)), file)


def _in_words(chosen: Scenario) -> str:
    return (
        f"seed {chosen.seed}: {len(chosen.partitions)} partitions for {chosen.hours:g} h, {chosen.workload}, "
        f"{'no' if chosen.faults is Level.NONE else chosen.faults} faults"
    )


def _show(outcome: "SimulatedRun", found: "Summary") -> None:
    series = outcome.measures.series
    over_time = table(
        *map(right, ("minutes", "load MB/s", "consumers", "moves", "overloaded", "backlog MB", "latency s")),
        caption=_in_words(outcome.scenario),
    )
    for begin, end in _slices(len(series.time_s)):
        over_time.add_row(*_line(series, begin, end))
    figures = table(Column(""), right("whole run"))
    for name, value in _figures(outcome, found):
        figures.add_row(name, value)
    show(over_time, figures)


def _slices(samples: int) -> Iterator[tuple[int, int]]:
    lines = min(SLICES, samples)
    for line in range(lines):
        yield line * samples // lines, (line + 1) * samples // lines


def _line(series: "Series", begin: int, end: int) -> tuple[str, ...]:
    def mean(values: Sequence[float]) -> float:
        return sum(values[begin:end]) / (end - begin)

    moves = series.moves[end - 1] - (series.moves[begin - 1] if begin else 0)
    return (
        f"{series.time_s[end - 1] / 60:.0f}",
        f"{mean(series.load_bytes_per_s) / 1e6:.2f}",
        f"{mean(series.consumers):.1f}",
        f"{moves}",
        f"{mean(series.overloaded):.1f}",
        f"{max(series.backlog_bytes[begin:end]) / 1e6:.1f}",
        f"{mean(series.latency_s):.1f}",
    )


def _figures(outcome: "SimulatedRun", found: "Summary") -> Iterator[tuple[str, str]]:
    yield "consumers, mean and most", f"{found.consumers_mean:g}, {found.consumers_max}"
    yield "cost, consumer-hours", f"{found.consumer_hours:g}"
    yield "moves", f"{found.moves}"
    yield "pause of a partition, p50 and p99", f"{found.pause_p50_s:.1f} s, {found.pause_p99_s:.1f} s"
    yield "latency, p50 and p99", f"{found.latency_p50_s:.1f} s, {found.latency_p99_s:.1f} s"
    yield "overloaded, consumer-seconds", f"{found.overloaded_consumer_s:g}"
    yield "largest backlog", f"{found.backlog_max_bytes / 1e6:.1f} MB"
    yield "faults", f"{sum(outcome.coverage.faults.values())}"
    yield "violations", f"{len(found.violations)}"


# A search over seeds.


@dataclass(frozen=True, slots=True)
class Result:
    seed: int
    violations: tuple[str, ...]


def _search(args: argparse.Namespace, make: "partial[Scenario]") -> int:
    seeds = range(args.seed, args.seed + args.seeds)
    failed: list[Result] = []
    with progress("simulating", len(seeds)) as advance, _workers(args.jobs) as workers:
        for result in workers.imap_unordered(partial(_try, make), seeds):
            advance()
            if result.violations:
                failed.append(result)
                if len(failed) <= SHOWN_FAILURES:
                    note(f"{_command(args, result.seed)}  violates {result.violations[0]}")
    failed.sort(key=lambda result: result.seed)
    if args.json:
        found = [{"command": _command(args, each.seed), **asdict(each)} for each in failed]
        print_json({"seeds": [seeds[0], seeds[-1]], "runs": len(seeds), "violations": found})
    else:
        sys.stdout.write(f"{len(seeds)} runs, seeds {seeds[0]} to {seeds[-1]}, {args.faults} faults: ")
        left_out = "; --json lists all of them" if len(failed) > SHOWN_FAILURES else ""
        sys.stdout.write(f"{len(failed)} with violations{left_out}\n" if failed else "nothing was violated\n")
    return 1 if failed else 0


def _workers(jobs: int | None) -> Pool:
    """Spawned: a fork would copy the thread that draws the progress bar."""
    return get_context("spawn").Pool(jobs or os.cpu_count() or 1, initializer=_get_ready)


def _get_ready() -> None:
    import signal

    from restow.packing import warm_up

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process; the parent handles it
    warm_up()


def _try(make: "partial[Scenario]", seed: int) -> Result:
    from restow.simulator.world import run as play

    try:
        return Result(seed, play(make(seed)).violations)
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        return Result(seed, (f"everything: a machine raised: {type(error).__name__}: {error}",))
