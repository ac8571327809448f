"""`restow plan FILE`: prints what a packer would do with a group as it stands, and why. Changes nothing."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from rich.table import Column, Table

from restow.cli.support.options import Subparsers, number, one_of
from restow.cli.support.output import print_json, right, show, table
from restow.cli.support.packer import load_packer
from restow.model import Assignment, ConsumerId, TopicPartition
from restow.packing import DEFAULT_PACKER, PACKERS, PUBLISHED, PackingPlan, Problem
from restow.packing.reasons import PartitionPlaced
from restow.study.plan_file import read_problem
from restow.text import counted

DESCRIPTION = """\
Prints what a packer would do with a consumer group as it stands: its consumers before and after, every move with its
reason, and the R-score (the speed that moves, in capacities of one consumer). Changes nothing.
"""

EPILOG = """\
FILE is JSON. Keys are required unless marked optional:
  {"capacity": 100,                         what one consumer carries; or {"default": 100, "3": 150}
   "assignment": {"1": ["orders-0"]},       what each consumer reads now; a partition without a speed is dropped
   "speeds": {"orders": {"0": 37.5}},       in the capacity's unit; a partition without a consumer is new
   "margins": {"trigger": 1.2},             optional: trigger, evict_to, fill_to, drain_to, as shares of the capacity,
                                            each at most the one before it
   "worth": 1,                              optional: how many capacities of speed may move to save one consumer
   "least_consumers": 1,                    optional
   "most_consumers": 20}                    optional

--json prints {"consumers", "moves", "reasons", "r", "infeasible", "overloaded", "given_up", "assignment"}.
A consumer's load is null before it is opened and after it is closed; a first placement is a move "from" null.

example:
  restow plan examples/plan.json
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "plan", help="show what a packer would do with a group, and why", description=DESCRIPTION, epilog=EPILOG
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="capacity, current assignment and speeds, as JSON")
    parser.add_argument(
        "--packer",
        type=one_of(PACKERS, "packer"),
        default=DEFAULT_PACKER,
        metavar="NAME",
        help=f"one of {', '.join(PACKERS)} (default: {DEFAULT_PACKER})",
    )
    parser.add_argument("--worth", type=number(0), metavar="L", help="overrides the file's worth of a consumer")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    problem = read_problem(args.file, args.worth)
    if args.packer not in PUBLISHED:
        load_packer()
    plan = PACKERS[args.packer](problem)
    if args.json:
        print_json(as_json(plan))
    else:
        show_plan(plan)
    return 0


def as_json(plan: PackingPlan) -> dict[str, object]:
    problem, why = plan.problem, _why(plan)
    before, after = problem.current.loads(problem.speeds), plan.assignment.loads(problem.speeds)
    return {
        "consumers": [
            {
                "consumer": consumer,
                "capacity": problem.capacities[consumer],
                "before": before.get(consumer),
                "after": after.get(consumer),
                "partitions": len(plan.assignment.by_consumer.get(consumer, ())),
            }
            for consumer in _consumers(plan)
        ],
        "moves": [
            {
                "partition": str(partition),
                "from": problem.current.get(partition),
                "to": plan.assignment[partition],
                "speed": problem.speeds[partition],
                "reason": why[partition],
            }
            for partition in _placed(plan)
        ],
        "reasons": [reason.words for reason in plan.reasons],
        "r": plan.r_score,
        "infeasible": [str(partition) for partition in plan.infeasible],
        "overloaded": list(plan.overloaded),
        "given_up": [str(partition) for partition in _given_up(plan)],
        "assignment": {
            str(consumer): [str(partition) for partition in partitions]
            for consumer, partitions in plan.assignment.by_consumer.items()
        },
    }


def show_plan(plan: PackingPlan) -> None:
    show(_consumer_table(plan))
    if not plan.problem.current.difference(plan.assignment):
        show("No change: everything stays where it is.")
    if _placed(plan):
        show(_move_table(plan))
    for line in (*_other_reasons(plan), *_warnings(plan), _summary(plan)):
        show(line)


def _consumers(plan: PackingPlan) -> list[ConsumerId]:
    """Consumers before or after the change."""
    return sorted({*plan.problem.current.consumers, *plan.assignment.consumers})


def _placed(plan: PackingPlan) -> list[TopicPartition]:
    """Partitions that change consumer or get their first."""
    current = plan.problem.current
    return [partition for partition, consumer in plan.assignment.items() if current.get(partition) != consumer]


def _given_up(plan: PackingPlan) -> list[TopicPartition]:
    return [partition for partition in plan.problem.current if partition not in plan.assignment]


def _why(plan: PackingPlan) -> dict[TopicPartition, str]:
    return {reason.partition: reason.why for reason in plan.reasons if isinstance(reason, PartitionPlaced)}


def _other_reasons(plan: PackingPlan) -> list[str]:
    """Reasons that the table of moves doesn't show."""
    return [reason.words for reason in plan.reasons if not isinstance(reason, PartitionPlaced)]


def _consumer_table(plan: PackingPlan) -> Table:
    problem = plan.problem
    before, after = _load_cells(problem, problem.current), _load_cells(problem, plan.assignment)
    absent = ("–", "–", "–")
    listing = table(
        *map(right, ("consumer", "capacity", "load", "%", "partitions", "load after", "%", "partitions")), Column("")
    )
    for consumer in _consumers(plan):
        change = "closed" if consumer not in after else "opened" if consumer not in before else ""
        capacity = f"{problem.capacities[consumer]:g}"
        listing.add_row(str(consumer), capacity, *before.get(consumer, absent), *after.get(consumer, absent), change)
    return listing


def _load_cells(problem: Problem, assignment: Assignment) -> dict[ConsumerId, tuple[str, str, str]]:
    """The load of each consumer, its share of the capacity in per cent, and its number of partitions."""
    return {
        consumer: (
            f"{load:g}",
            f"{100 * load / problem.capacities[consumer]:.1f}",
            str(len(assignment.by_consumer[consumer])),
        )
        for consumer, load in assignment.loads(problem.speeds).items()
    }


def _move_table(plan: PackingPlan) -> Table:
    why = _why(plan)
    listing = table(Column("partition", no_wrap=True), *map(right, ("speed", "from", "to")), Column("why"))
    for partition in _placed(plan):
        source = plan.problem.current.get(partition)
        listing.add_row(
            str(partition),
            f"{plan.problem.speeds[partition]:g}",
            "new" if source is None else str(source),
            str(plan.assignment[partition]),
            why[partition],
        )
    return listing


def _warnings(plan: PackingPlan) -> Iterator[str]:
    problem, loads = plan.problem, plan.assignment.loads(plan.problem.speeds)
    for partition in plan.infeasible:
        consumer = plan.assignment[partition]
        yield (
            f"Warning: {partition} alone, at {problem.speeds[partition]:g}, is more than consumer {consumer} carries "
            f"({problem.capacities[consumer]:g}); no packing can help, only more partitions or larger consumers."
        )
    for consumer in plan.overloaded:
        share = f"{100 * loads[consumer] / problem.capacities[consumer]:.1f} %"
        cause = f": at most {problem.most_consumers} consumers are allowed" if problem.most_consumers else ""
        yield f"Warning: consumer {consumer} carries {loads[consumer]:g}, {share} of its capacity{cause}."


def _summary(plan: PackingPlan) -> str:
    before, after = counted(len(plan.problem.current.consumers), "consumer"), len(plan.assignment.consumers)
    return f"{before} before, {after} after; {counted(len(plan.moves), 'move')}; R-score {plan.r_score:.3f}."
