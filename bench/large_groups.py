"""How restow's packer grows: time of a decision up to 200,000 partitions, and how good large groups' decisions are.

`make bench` runs it. The time is that of `restow bench packing`, for more sizes and worths. The quality is that of the
search for small groups, given all the time that it takes: every recipe, one exchange for each partition, and patience
in proportion to the group. CBS is the number of consumers above BFD's in per cent, R the speed that moves in a step per
100 partitions, in capacities; both are means over the steps after the first `START` of several published walks. The
exit code is 1 if a large group's CBS or R is more than 5 % above the small search's, where a difference of CBS of a
quarter of a point, 2.5 consumers of a thousand, is none.

`--plot FILE` draws the curve of the time, `--into FILE` writes the tables between the marks of that Markdown file: the
times of an idle machine, and the quality, which is the same on every machine (`--sizes ""` leaves the times out,
`--compared ""` the quality).
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Final, NamedTuple

from matplotlib.figure import Figure

from restow.model import Assignment, Capacities, Speeds
from restow.packing import PACKERS, Packer, Problem, warm_up
from restow.packing.ours import NORMAL, Effort, pack
from restow.study.workload import TOP_SPEED, Walk

SIZES: Final = (200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000)
TIMED: Final = ((5, 1.0), (15, 1.0), (5, 3.0), (5, 10.0))
"""d and worth. The first is that of `restow bench packing`."""
COMPARED: Final = (2_000, 20_000)
CHANGES: Final = (5, 15, 25)
WORTHS: Final = (0.5, 1.0, 3.0, 10.0)
START: Final = 2
"""Steps that still show the first placement."""
PARTITIONS_WALKED: Final = 16_000
"""In all walks of a size together, but at least LEAST_WALKS. In a single walk of 2,000 partitions one figure may be 5 %
above the small search's and the other one below it: chance decides between plans of the same cost."""
LEAST_WALKS: Final = 2
MOST_ABOVE: Final = 1.05
SAME_CBS: Final = 0.25
"""In points. Where the small search needs no consumer more than BFD, 5 % of its CBS would be nothing."""
TIME_MARKS: Final = ("<!-- bench/large_groups.py time begin -->\n", "<!-- bench/large_groups.py time end -->\n")
MARKS: Final = ("<!-- bench/large_groups.py quality begin -->\n", "<!-- bench/large_groups.py quality end -->\n")


class Decision(NamedTuple):
    consumers: int
    r: float
    """Moved speed, in capacities."""
    took_s: float


class Quality(NamedTuple):
    cbs: float
    r: float
    """Per 100 partitions."""

    def cost(self, worth: float, least: float) -> float:
        """Moved speed and consumers by their worth, both per 100 partitions; `least` is BFD's number of consumers."""
        return self.r + worth * least * (1 + self.cbs / 100)


def small_search(partitions: int) -> Effort:
    """The search for small groups without their limits."""
    return replace(NORMAL, small_group=partitions, whole=partitions, rounds=max(NORMAL.rounds, partitions))


def course(packer: Packer, trace: Sequence[Speeds], worth: float) -> Iterator[Decision]:
    """The decisions after the first, which places everything."""
    assignment, previous = Assignment(), None
    for speeds in trace:
        problem = Problem(speeds, assignment, Capacities(float(TOP_SPEED)), worth=worth, previous=previous)
        began = time.perf_counter()
        plan = packer(problem)
        took_s = time.perf_counter() - began
        if previous is not None:
            yield Decision(len(plan.assignment.consumers), plan.r_score, took_s)
        assignment, previous = plan.assignment, speeds


def quality(
    packer: Packer, traces: Sequence[Sequence[Speeds]], worth: float, least: Sequence[Sequence[int]]
) -> Quality:
    """The mean of all walks; `least` has BFD's consumers in each step of each."""
    found = [list(course(packer, trace, worth))[START:] for trace in traces]
    return Quality(
        100
        * fmean(
            decision.consumers / fewest - 1
            for decisions, bfd in zip(found, least, strict=True)
            for decision, fewest in zip(decisions, bfd, strict=True)
        ),
        100 * fmean(decision.r for decisions in found for decision in decisions) / len(traces[0][0]),
    )


def compared(sizes: Sequence[int], steps: int, seed: int) -> Iterator[tuple[bool, str]]:
    """One row per size, d and worth, and whether it is within the bound."""
    for partitions in sizes:
        walks = range(seed, seed + max(LEAST_WALKS, PARTITIONS_WALKED // partitions))
        for d in CHANGES:
            traces = [Walk(d, each, steps, partitions=partitions).speeds() for each in walks]
            least = [[each.consumers for each in course(PACKERS["bfd"], trace, 1.0)][START:] for trace in traces]
            for worth in WORTHS:
                ours = quality(PACKERS["restow"], traces, worth, least)
                reference = quality(partial(pack, effort=small_search(partitions)), traces, worth, least)
                fewest = 100 * fmean(map(fmean, least)) / partitions
                ratio = ours.cost(worth, fewest) / reference.cost(worth, fewest)
                figures = (f"{found.cbs:z.2f} / {found.r:.2f}" for found in (ours, reference))
                yield (
                    is_as_good(ours, reference),
                    f"| {partitions:,} | {d} | {worth:g} | {' | '.join(figures)} | {100 * ratio - 100:+z.1f} % |",
                )


def is_as_good(ours: Quality, reference: Quality) -> bool:
    most_cbs = max(reference.cbs * MOST_ABOVE, reference.cbs + SAME_CBS)
    return ours.cbs <= most_cbs and ours.r <= reference.r * MOST_ABOVE


def timed(sizes: Sequence[int], seed: int) -> Iterator[tuple[int, tuple[float, ...]]]:
    """The median time of a decision in ms for each of TIMED."""
    for partitions in sizes:
        steps = max(3, min(11, 200_000 // partitions))
        yield (
            partitions,
            tuple(
                1000
                * median(
                    decision.took_s
                    for decision in course(
                        PACKERS["restow"], Walk(d, seed, steps, partitions=partitions).speeds(), worth
                    )
                )
                for d, worth in TIMED
            ),
        )


def time_table(sizes: Sequence[int], seed: int, plot: Path | None) -> Iterator[str]:
    yield f"| partitions | {' | '.join(f'd={d}, worth {worth:g}' for d, worth in TIMED)} |"
    yield "|" + "---|" * (len(TIMED) + 1)
    found = []
    for partitions, times in timed(sizes, seed):
        found.append((partitions, times))
        yield f"| {partitions:,} | {' | '.join(f'{each:.1f} ms' for each in times)} |"
    if plot is not None:
        draw(found, plot)


def draw(found: Sequence[tuple[int, tuple[float, ...]]], file: Path) -> None:
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    sizes = [partitions for partitions, _ in found]
    for place, (d, worth) in enumerate(TIMED):
        axes.loglog(sizes, [times[place] for _, times in found], marker="o", label=f"d = {d}, worth {worth:g}")
    axes.loglog(sizes, [size / 400 for size in sizes], color="grey", linestyle=":", label="in proportion: 2.5 µs each")
    axes.set(xlabel="partitions", ylabel="median time of a decision, ms")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend()
    figure.savefig(file, dpi=120)


def main() -> int:
    options = arguments()
    warm_up()
    if options.sizes:
        times = printed(time_table(options.sizes, options.seed, options.plot))
        if options.into is not None:
            write_between_marks(options.into, times, *TIME_MARKS)
    return 0 if not options.compared or compare(options) else 1


def compare(options: argparse.Namespace) -> bool:
    """Whether every row is within the bound."""
    well, rows = True, ["| partitions | d | worth | CBS % / R | small search | cost |", "|" + "---|" * 6]
    print_line("\n".join(rows))
    for is_within, line in compared(options.compared, options.steps, options.seed):
        well &= is_within
        rows.append(line)
        print_line(line if is_within else f"{line} MISSED")
    if options.into is not None:
        write_between_marks(options.into, "\n".join((*rows, "")), *MARKS)
    return well


def printed(lines: Iterator[str]) -> str:
    """The lines as one text, each printed when it is there."""
    found = []
    for line in lines:
        found.append(line)
        print_line(line)
    return "\n".join((*found, ""))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the packer's decisions for large groups.")
    parser.add_argument("--sizes", type=whole_numbers, default=list(SIZES), help="partitions to time")
    parser.add_argument("--compared", type=whole_numbers, default=list(COMPARED), help="partitions to compare")
    parser.add_argument("--steps", type=int, default=10, help="of each walk to compare (default: 10)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the curve of the time")
    parser.add_argument("--into", type=Path, metavar="FILE", help="write the tables between the marks of this file")
    return parser.parse_args()


def whole_numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",") if number]


def write_between_marks(file: Path, text: str, begin: str, end: str) -> None:
    before, _, rest = file.read_text().partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        sys.exit(f"{file}: there is no line {begin.strip()} with {end.strip()} behind it; the tables go between them")
    file.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
