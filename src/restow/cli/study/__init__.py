"""`restow study …`: one module a study, each with `add(studies)`."""

import argparse

from restow.cli.study import latency, monitor, packing
from restow.cli.support.options import Parser, Subparsers

DESCRIPTION = "The published studies of consumer groups, repeated with any packer, and restow's own beside them."
STUDIES = (packing, latency, monitor)


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    study = commands.add_parser("study", help="run the published studies with any packer", description=DESCRIPTION)
    studies = study.add_subparsers(title="studies", metavar="STUDY", required=True, parser_class=Parser)
    for one in STUDIES:
        one.add(studies)
