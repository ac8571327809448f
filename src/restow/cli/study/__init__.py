"""`restow study`: the published studies of consumer groups, with restow beside them.

packing.py  consumers against moved speed, for any packer
latency.py  how late records are read, by policy
monitor.py  the true speed against the monitor's
"""

import argparse

from restow.cli.study import latency, monitor, packing
from restow.cli.support.options import Parser, Subparsers

DESCRIPTION = "Repeats the published studies of consumer groups, with restow beside them."
STUDIES = (packing, latency, monitor)


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    study = commands.add_parser("study", help="repeat the published studies, with restow", description=DESCRIPTION)
    studies = study.add_subparsers(title="studies", metavar="STUDY", required=True, parser_class=Parser)
    for one in STUDIES:
        one.add(studies)
