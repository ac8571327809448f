"""`restow bench …`: what this machine does, measured. One module a benchmark, each with `add(benches)`."""

import argparse

from restow.cli.bench import monitor, packing, platform
from restow.cli.support.options import Parser, Subparsers

DESCRIPTION = "Measures on this machine what restow's parts take."
BENCHES = (packing, monitor, platform)


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    bench = commands.add_parser("bench", help="measure on this machine what things take", description=DESCRIPTION)
    benches = bench.add_subparsers(title="benchmarks", metavar="BENCHMARK", required=True, parser_class=Parser)
    for one in BENCHES:
        one.add(benches)
