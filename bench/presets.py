"""What each preset of [controller] costs and spares, in the simulator: `python -m bench.presets --into docs/policy.md`.

Every preset runs over the same seeds and workloads, without faults, with the starts and cycles that the simulator's
consumers have. The figures are sums, or the worst of the runs for the latency.
"""

import argparse
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from restow.packing import warm_up
from restow.settings.schema import PRESETS, Controller
from restow.simulator.scenario import Scenario, scenario
from restow.simulator.summary import Summary, summary
from restow.simulator.workloads import GENERATORS
from restow.simulator.world import run

BEGIN, END = "<!-- presets begin -->", "<!-- presets end -->"
HEAD: Final = "| preset | consumer-hours | moves | latency p99, worst run | overloaded consumer-seconds |"


@dataclass(frozen=True, slots=True)
class Row:
    preset: str
    runs: list[Summary]

    @property
    def line(self) -> str:
        hours = sum(each.consumer_hours for each in self.runs)
        moves = sum(each.moves for each in self.runs)
        latency_s = max(each.latency_p99_s for each in self.runs)
        overloaded_s = sum(each.overloaded_consumer_s for each in self.runs)
        return f"| `{self.preset}` | {hours:.1f} | {moves} | {latency_s:.0f} s | {overloaded_s:.0f} |"


def scenario_of(preset: str, workload: str, seed: int, hours: float, partitions: int) -> Scenario:
    drawn = scenario(seed, hours, partitions, workload)
    return replace(drawn, rules=replace(drawn.rules, controller=Controller.of_preset(preset)))


def simulated(of: tuple[str, str, int, float, int]) -> Summary:
    return summary(run(scenario_of(*of)))


def rows(seeds: int, hours: float, partitions: int) -> Iterator[Row]:
    with ProcessPoolExecutor(initializer=warm_up) as pool:
        for preset in PRESETS:
            wanted = [
                (preset, workload, seed, hours, partitions)
                for workload in sorted(GENERATORS)
                for seed in range(1, seeds + 1)
            ]
            yield Row(preset, list(pool.map(simulated, wanted)))


def table(seeds: int, hours: float, partitions: int) -> str:
    workloads = ", ".join(sorted(GENERATORS))
    title = (
        f"Sums over the workloads {workloads} and {seeds} seeds each: {hours:g} h, {partitions} partitions, no faults."
    )
    lines = [HEAD, "|---|---|---|---|---|", *(row.line for row in rows(seeds, hours, partitions))]
    return f"{title}\n\n" + "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--hours", type=float, default=2.0)
    parser.add_argument("--partitions", type=int, default=60)
    parser.add_argument("--into", type=Path, help="the page whose table is written anew")
    args = parser.parse_args()
    found = table(args.seeds, args.hours, args.partitions)
    if args.into is None:
        sys.stdout.write(f"{found}\n")
        return
    text = args.into.read_text(encoding="utf-8")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    args.into.write_text(f"{before}{BEGIN}\n{found}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
