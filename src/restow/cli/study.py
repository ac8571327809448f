"""`restow study …`: the published studies, reproduced and beaten. One module a study, each with `add(studies)`."""

import argparse

from restow.cli.common import Parser, Subparsers


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    study = commands.add_parser("study", help="run the published studies with any packer", description=__doc__)
    study.add_subparsers(title="studies", metavar="STUDY", required=True, parser_class=Parser)
