"""`restow bench`: measures on this machine what restow's parts cost.

packing.py   time of a packing decision
monitor.py   cost of one measurement
platform.py  time until many consumers are accepted, ready and gone
consumer.py  throughput of a consumer at full load, beside its peers
handover.py  pauses of partitions when a group changes, beside Kafka's protocols
outputs.py   the options that consumer.py and handover.py share
"""

import argparse

from restow.cli.bench import consumer, handover, monitor, packing, platform
from restow.cli.support.options import Parser, Subparsers

DESCRIPTION = "Measures what restow's parts cost on this machine."
BENCHES = (packing, monitor, platform, consumer, handover)


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    bench = commands.add_parser("bench", help="measure what restow's parts cost", description=DESCRIPTION)
    benches = bench.add_subparsers(title="benchmarks", metavar="BENCHMARK", required=True, parser_class=Parser)
    for one in BENCHES:
        one.add(benches)
