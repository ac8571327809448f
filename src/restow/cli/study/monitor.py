"""`restow study monitor`: the producer's true speed against the monitor's, raw and filtered."""

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from math import ceil
from pathlib import Path
from typing import Final

from rich.table import Column

from restow.cli.support.options import Subparsers, number, whole_number
from restow.cli.support.output import note, print_json, progress, right, show, table
from restow.errors import InvalidInput
from restow.monitor.meter import MeterSettings
from restow.study.monitor import Row, SpeedSeries, figures, mean
from restow.study.monitor_scenarios import SCENARIOS, ProducerScenario, cut_to, replay
from restow.study.monitor_simulation import simulated
from restow.study.plot_file import check_plot_file

SEEDS: Final = 20
REPLAY: Final = "replay"
NAMES: Final = (*SCENARIOS, REPLAY)

DESCRIPTION = """\
A producer writes to one partition and changes its speed; a monitor measures it every second. Shows how soon, how
accurately and how smoothly the monitor follows: with the mean over 30 s, as published, and with restow's filter.

scenarios
  step          60 s each at 200, 600, 300, 1200 and 100 kB/s
  random        the published test: records of 123 bytes, pauses uniform between 0.01 and 2 s, for 600 s
  ramp          from 100 kB/s to 1 MB/s within 120 s
  burst         200 kB/s with a burst of 1 s (tenfold) and one of 10 s (fivefold)
  replay FILE   the fastest partition of a recorded trace, each of its steps for --step-s

figures
  convergence   seconds from a change of speed until the monitor is within 5 % of it and stays there; the slowest of
                the run. Only speeds that hold for 45 s count; random has none.
  mean error    mean distance from the true speed, as a share of the mean true speed
  noise         standard deviation as a share of the true speed, where that was constant for a window
"""

EPILOG = """\
A live run takes as long as its scenario: a real producer writes to a topic of its own, which is deleted afterwards.

examples:
  restow study monitor --plot monitor.png                   live, with an embedded broker: 5 minutes
  restow study monitor --simulated                          the steps, in accelerated time
  restow study monitor --simulated --scenario random --plot random.png
  restow study monitor --simulated --scenario replay speeds.json --json

The FILE of replay is a JSON array with one object a step, with the speed of every partition in bytes/s:
[{"orders": {"0": 812.5, "1": 90}}, …]. `restow record FILE` writes one of your own load, with steps of 30 s.

--json prints one object: scenario, window_convergence_s, filtered_convergence_s, window_mean_error,
filtered_mean_error, window_noise, filtered_noise; null where the scenario can't show a figure, or the new speed was
never reached.
"""


def add(studies: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = studies.add_parser(
        "monitor", help="the true speed against the monitor's", description=DESCRIPTION, epilog=EPILOG
    )
    option = parser.add_argument
    option(
        "--scenario",
        nargs="+",
        default=["step"],
        metavar=("NAME", "FILE"),
        help=f"{', '.join(SCENARIOS)}, or replay and the file of a trace (default: step)",
    )
    option("--step-s", type=number(1.0), default=60.0, metavar="S", help="how long a replayed step takes (default: 60)")
    option("--duration", type=number(10.0), metavar="S", help="cut or extend the scenario to S seconds")
    option("--simulated", action="store_true", help="simulate producer and log in accelerated time")
    option("--bootstrap", metavar="HOST:PORT", help="live: use this Kafka (default: an embedded one)")
    option("--seed", type=whole_number(0), metavar="N", help="run only this seed")
    option(
        "--seeds",
        type=whole_number(1),
        metavar="N",
        help=f"simulated: run the seeds 1 to N; prints the slowest convergence and mean figures (default: {SEEDS})",
    )
    option("--sample-s", type=number(0.1), default=1.0, metavar="S", help="how often to sample (default: 1)")
    option("--json", action="store_true", help="print one JSON object and nothing else")
    option("--plot", type=Path, metavar="FILE", help="draw the speeds over time as .png or .svg (the first seed's)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    if args.plot:
        check_plot_file(args.plot)
    scenario = _scenario(args)
    runs, subtitle = _simulated(args, scenario) if args.simulated else _live(args, scenario)
    row = mean([figures(series) for series in runs])
    if args.plot:
        _draw(runs[0], subtitle.replace("seeds 1 to", "seed 1 of"), args.plot)
    if args.json:
        print_json(asdict(row))
    else:
        _show(row, subtitle)
    return 0


def _scenario(args: argparse.Namespace) -> ProducerScenario:
    name, *files = args.scenario
    if name not in NAMES:
        raise InvalidInput(f"--scenario: there is no scenario '{name}'; known are {', '.join(NAMES)}")
    if len(files) != (name == REPLAY):
        wanted = "replay and the file of a trace" if name == REPLAY else f"{name} alone"
        raise InvalidInput(f"--scenario: '{' '.join(args.scenario)}' can't be used; it must be {wanted}")
    scenario = replay(Path(files[0]), args.step_s) if files else SCENARIOS[name]()
    return cut_to(scenario, args.duration) if args.duration else scenario


def _simulated(args: argparse.Namespace, scenario: ProducerScenario) -> tuple[list[SpeedSeries], str]:
    seeds = range(1, (args.seeds or SEEDS) + 1) if args.seed is None else [args.seed]
    if args.seed is not None and args.seeds is not None:
        note("--seeds is not used: one seed is given")
    with progress("monitor study", len(seeds)) as advance:
        runs = []
        for seed in seeds:
            runs.append(simulated(scenario, seed, MeterSettings(), args.sample_s))
            advance()
    which = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    return runs, f"simulated, {scenario.duration_s:g} s, {which}"


def _live(args: argparse.Namespace, scenario: ProducerScenario) -> tuple[list[SpeedSeries], str]:
    # Kafka's client takes longer to load than most commands take to run, so only a live run loads it.
    from restow.kafka.embedded.broker import EmbeddedKafka
    from restow.settings import Kafka
    from restow.study.monitor_live import live

    if args.seeds is not None:
        note("--seeds is not used: a live run has one seed")
    seed = 1 if args.seed is None else args.seed
    samples = ceil(scenario.duration_s / args.sample_s)
    with ExitStack() as stack:
        advance = stack.enter_context(progress("monitor study, live", samples))
        bootstrap = args.bootstrap or stack.enter_context(EmbeddedKafka()).bootstrap
        series = live(scenario, Kafka(bootstrap), seed, MeterSettings(), args.sample_s, advance)
    return [series], f"live, {scenario.duration_s:g} s, seed {seed}"


def _draw(series: SpeedSeries, subtitle: str, file: Path) -> None:
    # Loading matplotlib takes as long as a small study, so only --plot loads it.
    from restow.study.monitor_plot import picture
    from restow.study.plots import save

    save(picture(series, figures(series), subtitle), file)


def _show(row: Row, subtitle: str) -> None:
    listing = table(Column(row.scenario), right("window"), right("filtered"), caption=subtitle)
    for name, window, filtered in _lines(row):
        listing.add_row(name, window, filtered)
    show(listing)


def _lines(row: Row) -> Sequence[tuple[str, str, str]]:
    def shown(value: float | None, form: str) -> str:
        return "–" if value is None else form.format(value)

    return [
        ("convergence", shown(row.window_convergence_s, "{:.1f} s"), shown(row.filtered_convergence_s, "{:.1f} s")),
        ("mean error", shown(row.window_mean_error, "{:.2%}"), shown(row.filtered_mean_error, "{:.2%}")),
        ("noise", shown(row.window_noise, "{:.2%}"), shown(row.filtered_noise, "{:.2%}")),
    ]
