"""`restow study`: the published studies of consumer groups, with restow beside them.

packing.py  consumers against moved speed, for any packer
latency.py  how late records are read, by policy
monitor.py  the true speed against the monitor's
"""

import argparse

from restow.cli.study import latency, monitor, packing
from restow.cli.support.options import Parser, Subparsers

DESCRIPTION = """\
Repeats the published studies of consumer groups, with restow beside them. All three also run on your own load, from a
trace: a JSON array with one object a step, with the speed of every partition in bytes/s,
[{"orders": {"0": 812.5, "1": 90}}, …]. `restow record FILE` writes one from what the monitor measured.
"""
STUDIES = (packing, latency, monitor)


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    study = commands.add_parser("study", help="repeat the published studies, with restow", description=DESCRIPTION)
    studies = study.add_subparsers(title="studies", metavar="STUDY", required=True, parser_class=Parser)
    for one in STUDIES:
        one.add(studies)
