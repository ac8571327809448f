"""How the simulator scales: one simulated hour with 10,000 partitions, beside the same hour with a tenth of them.

`make bench` runs it. Prints for each workload the CPU and wall time of both runs, their ratio, and the size of the
group. `--largest` runs one simulated hour with 100,000 partitions on 1,000 consumers instead. The exit code is 1 if the
hour took more than two minutes of one core (ten for the largest group), or a checker found a violation.
"""

import argparse
import sys
import time
from dataclasses import replace

from restow.packing import warm_up
from restow.simulator.scenario import scenario
from restow.simulator.summary import Summary, summary
from restow.simulator.workloads import GENERATORS
from restow.simulator.world import run

PARTITIONS, FEWER = 10_000, 1_000
LONGEST_S = 120.0
LARGEST, LARGEST_PER_CONSUMER = 100_000, 100
LARGEST_LONGEST_S = 600.0


def main() -> int:
    options = arguments()
    warm_up()
    print_line(f"{'load':8}  {'partitions':>10}  {'consumers':>9}  {'moves':>6}  {'cpu s':>6}  {'wall s':>6}")
    if options.largest:
        cpu_s, found = measured(options.workloads[0], LARGEST, options)
        return 0 if cpu_s <= LARGEST_LONGEST_S * options.hours and not found.violations else 1
    well = True
    for workload in options.workloads:
        fewer_s, _ = measured(workload, FEWER, options)
        cpu_s, found = measured(workload, PARTITIONS, options)
        well &= cpu_s <= LONGEST_S * options.hours and not found.violations
        print_line(f"{'':8}  {PARTITIONS / FEWER:.0f} times the partitions: {cpu_s / fewer_s:.1f} times the CPU time")
    return 0 if well else 1


def measured(workload: str, partitions: int, options: argparse.Namespace) -> tuple[float, Summary]:
    """CPU time and summary of a run."""
    chosen = scenario(options.seed, options.hours, partitions, workload)
    if partitions == LARGEST:
        chosen = replace(chosen, per_consumer=LARGEST_PER_CONSUMER)
    began_s, cpu_began_s = time.perf_counter(), time.process_time()
    found = summary(run(chosen))
    wall_s, cpu_s = time.perf_counter() - began_s, time.process_time() - cpu_began_s
    print_line(
        f"{workload:8}  {partitions:10,}  {found.consumers_mean:9.0f}  {found.moves:6,}  {cpu_s:6.1f}  {wall_s:6.1f}"
        + "".join(f"\n          VIOLATION of {violation}" for violation in found.violations)
    )
    return cpu_s, found


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time the simulator with 10,000 partitions, and with a tenth of them.")
    parser.add_argument("workloads", nargs="*", default=list(GENERATORS), help=f"of {', '.join(GENERATORS)}")
    parser.add_argument("--hours", type=float, default=1.0, help="simulated hours (default: 1)")
    parser.add_argument("--largest", action="store_true", help="100,000 partitions on 1,000 consumers, one workload")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
