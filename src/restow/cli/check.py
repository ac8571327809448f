"""`restow check`: finds out before a group runs whether its settings, brokers, transforms and tables are right."""

import argparse
import os
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING

from restow.cli.support.config import add_config, settings_of
from restow.cli.support.options import Subparsers
from restow.cli.support.output import note, print_line
from restow.cli.support.transforms_path import add_transforms_path
from restow.errors import InvalidInput
from restow.roles.schedules import check_zones
from restow.scratch import temporary
from restow.settings import InvalidSettings, Settings

if TYPE_CHECKING:
    from restow.pipeline.check import Trial

WRONG = 1

DESCRIPTION = """\
Checks whether a group can run with this restow.toml. It changes nothing, except that --infer writes schemas. Prints one
line for each check:

  right    it works
  wrong    it can't work; the line has the reason and what to do
  unknown  it can't be checked now, such as a topic while no broker answers

What it checks, in this order:

  restow.toml  every error in it, with key, value and what would be right
  brokers      can they be reached with these credentials, within 10 s
  topics       does each topic exist; can restow's own be created
  group        may its offsets be read
  formats      can values be parsed by their schemas; does a registry answer
  transforms   each is imported and run on the newest records of its topics, 20 of each of up to 10 partitions, or on
               none; a failure is reported with its error, the line in your file, and the record
  tables       do they exist or can they be created, can they be written, do the transform's columns fit

Transforms of light consumers (pipeline = "light") run without Spark.
"""

EPILOG = """\
The exit code is 0 if all is right, 1 if something is wrong, and 2 if nothing is wrong but something is unknown.
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "check", help="check settings, brokers, topics, transforms and tables", description=DESCRIPTION, epilog=EPILOG
    )
    add_config(parser)
    parser.add_argument(
        "--infer",
        action="store_true",
        help='write the JSON Schemas of topics with format = "json" that don\'t exist yet, from their newest records',
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    try:
        settings = settings_of(args)
        if not settings.consume:
            raise InvalidInput(f"{args.config}: there is no [consume.NAME], so nothing is consumed; write one")
        check_zones(settings.schedule, args.config)
    except InvalidInput as error:
        for line in error.errors if isinstance(error, InvalidSettings) else (str(error),):
            print_line(f"wrong    {line}")
        return WRONG
    print_line(f"right    {args.config}")
    add_transforms_path(args.config)
    with ExitStack() as ending:
        ending.enter_context(temporary("check"))
        return _check(settings, ending, infers=args.infer)


def _check(settings: Settings, ending: ExitStack, *, infers: bool) -> int:
    # Kafka's client takes longer to load than most commands take to run, so only this command loads it.
    from restow.pipeline.check import Verdict, check, exit_code
    from restow.pipeline.secrets import Secrets

    seen: Counter[Verdict] = Counter()
    redact = Secrets(settings, os.environ).redact
    for finding in check(settings, lambda: _trial(settings, ending), redact, infers=infers):
        seen[finding.verdict] += 1
        print_line(str(finding))
    if seen[Verdict.WRONG] or seen[Verdict.UNKNOWN]:
        note(f"{seen[Verdict.WRONG]} wrong, {seen[Verdict.UNKNOWN]} unknown")
    return exit_code(seen)


def _trial(settings: Settings, ending: ExitStack) -> "Trial":
    """Raises RestowError if Spark can't be used."""
    if settings.consumer.pipeline == "light":
        from restow.pipeline.light.check import LightTrial

        return LightTrial(settings)
    from restow.pipeline.spark.check import SparkTrial
    from restow.pipeline.spark.prepare import prepare_spark

    prepare_spark()
    trial = SparkTrial(settings)
    ending.callback(trial.close)
    return trial
