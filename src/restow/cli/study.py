"""`restow study …`: the published studies, reproduced and beaten."""

import argparse


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    study = commands.add_parser("study", help="run the published studies with any packer", description=__doc__)
    study.add_subparsers(title="studies", metavar="STUDY", required=True)
