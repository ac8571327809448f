"""`restow plan`: prints what would be decided for the running group, or for one in a file, and why."""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Column, Table

from restow.cli.support.config import add_config, settings_of
from restow.cli.support.options import Subparsers, number, one_of
from restow.cli.support.output import print_json, right, show, table
from restow.cli.support.packer import load_packer
from restow.model import Assignment, ConsumerId, TopicPartition
from restow.packing import DEFAULT_PACKER, PACKERS, PUBLISHED, PackingPlan, Problem
from restow.packing.reasons import PartitionPlaced
from restow.study.plan_file import read_problem
from restow.text import counted

if TYPE_CHECKING:
    from restow.picture.picture import Picture
    from restow.settings import Settings

DESCRIPTION = """\
Prints what would be decided for a consumer group as it stands: its consumers before and after, every move with its
reason, and the R-score (the speed that moves, in capacities of one consumer). Changes nothing.

Without FILE it is the running group: what its controller would decide if it planned now, by its own code, on the newest
speeds. It reads <prefix>-status and <prefix>-monitor, so that it works wherever Kafka can be reached. It plans
when a consumer's load is above `trigger`, when a partition has no consumer, and every `look_every_s`.
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
Without FILE it also has "group", "age_s" (of the picture), "outage" and "notes"; speeds and loads are bytes/s.

The exit code is 0, or 1 without FILE if the picture is older than 30 s: no controller runs that would decide this.
Without FILE it needs the right Read on <prefix>-status and <prefix>-monitor.

examples:
  restow plan                               what would be decided now
  restow plan --worth 0.5                   and if a consumer were worth less moving
  restow plan --packer best-fit             and by a published algorithm
  restow plan examples/plan.json
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "plan", help="show what would be decided now, and why", description=DESCRIPTION, epilog=EPILOG
    )
    parser.add_argument(
        "file",
        type=Path,
        nargs="?",
        metavar="FILE",
        help="capacity, current assignment and speeds, as JSON (default: those of the running group)",
    )
    parser.add_argument(
        "--packer",
        type=one_of(PACKERS, "packer"),
        default=DEFAULT_PACKER,
        metavar="NAME",
        help=f"one of {', '.join(PACKERS)} (default: {DEFAULT_PACKER})",
    )
    parser.add_argument("--worth", type=number(0), metavar="L", help="overrides the worth of a consumer")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    add_config(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    if args.file is None:
        return _live(args, settings_of(args))
    problem = read_problem(args.file, args.worth)
    if args.packer not in PUBLISHED:
        load_packer()
    plan = PACKERS[args.packer](problem)
    if args.json:
        print_json(as_json(plan))
    else:
        show_plan(plan)
    return 0


# The running group.


def _live(args: argparse.Namespace, settings: "Settings") -> int:
    # Kafka's client takes longer to load than most commands take to run, so only this command loads it.
    from restow.cli.support.group_picture import age_s, newest_picture
    from restow.kafka.channels.history import measurement_of, newest_measurement
    from restow.picture.forecast import caveats, forecast
    from restow.picture.publication import OUTAGE_AFTER_S

    picture = _by_worth(newest_picture(settings), args.worth)
    measured = newest_measurement(settings)
    planned_with = picture.overview.planned_with
    previous = None if planned_with is None else measurement_of(settings, planned_with)
    if args.packer not in PUBLISHED:
        load_packer()
    plan = forecast(picture, measured, previous, args.packer)
    old_s = age_s(picture)
    is_outage = old_s > OUTAGE_AFTER_S
    notes = [*_outage(settings, old_s if is_outage else None), *caveats(picture, is_stale=measured is None)]
    if args.json:
        head = {"group": picture.overview.group, "age_s": round(old_s, 3), "outage": is_outage, "notes": notes}
        print_json({**head, **as_json(plan)})
    else:
        for line in (f"group {picture.overview.group}, in bytes/s", *notes):
            show(line)
        show_plan(plan)
    return 1 if is_outage else 0


def _by_worth(picture: "Picture", worth: float | None) -> "Picture":
    if worth is None:
        return picture
    overview = picture.overview
    return replace(picture, overview=replace(overview, limits=replace(overview.limits, worth=worth)))


def _outage(settings: "Settings", old_s: float | None) -> Iterator[str]:
    if old_s is not None:
        yield (
            f"OUTAGE: no picture for {old_s:.0f} s, so that no controller of group {settings.group.name} would decide "
            "this now; the plan starts from what consumers held then. Does `restow controller` run?"
        )


# The plan.


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
