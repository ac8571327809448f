"""`restow record`: saves the monitor's measurements as a trace for `restow simulate` and `restow study`."""

import argparse
import logging
import time
from pathlib import Path

from restow.cli.support.config import add_config, settings_of
from restow.cli.support.options import Subparsers, duration, number
from restow.durable import write_atomically
from restow.errors import InvalidInput, RestowError
from restow.simulator.scenario import TRACE_STEP_S
from restow.study.recording import TraceRecorder, trace_text
from restow.text import counted

log = logging.getLogger(__name__)

READABLE = 0o644

DESCRIPTION = f"""\
Saves the recent history of <prefix>-monitor, on which the monitor publishes the write speed of every partition, as a
trace: the file that `restow simulate --workload FILE` and `restow study packing|latency --trace FILE` read. So a
setting, a capacity or a packer can be tried on your own load.

A trace is a JSON array with one object a step, {{topic: {{partition: bytes/s}}}}. A step is the mean over
{TRACE_STEP_S:g} s, which is what `restow simulate` expects. While the monitor was away, the step before is repeated.
"""

EPILOG = """\
examples:
  restow record speeds.json
  restow record --for 24h speeds.json
  restow simulate --workload speeds.json --capacity 2400000
  restow study packing --trace speeds.json --capacity 2400000

It needs the right Read on <prefix>-monitor. How far back the topic goes: monitor_retention_ms in [topics].
"""


def add(commands: "Subparsers[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "record", help="save measured speeds as a trace", description=DESCRIPTION, epilog=EPILOG
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the trace, as JSON; it is replaced")
    parser.add_argument(
        "--for",
        dest="seconds",
        type=duration,
        default=3600.0,
        metavar="TIME",
        help="how much of the newest history, like 30m, 1h or 24h (default: 1h)",
    )
    parser.add_argument(
        "--step-s",
        type=number(1.0),
        default=TRACE_STEP_S,
        metavar="S",
        help=f"seconds of a step (default: {TRACE_STEP_S:g})",
    )
    add_config(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    settings = settings_of(args)
    # Kafka's client takes longer to load than most commands take to run, so only this command loads it.
    from restow.kafka.channels.history import read_history

    recorder = TraceRecorder(args.step_s)
    for measurement in read_history(settings, since_ms=round((time.time() - args.seconds) * 1000)):
        recorder.add(measurement)
    trace = recorder.trace()
    if not trace:
        raise RestowError(
            f"{settings.topics.monitor} has no measurements of the last {args.seconds:g} s; does `restow monitor` run?"
        )
    try:
        write_atomically(args.file, trace_text(trace).encode(), READABLE)
    except OSError as error:
        raise InvalidInput(f"{args.file} can't be written: {error.strerror}; name another file") from None
    partitions = len({partition for speeds in trace for partition in speeds})
    what = f"{counted(len(trace), 'step')} of {args.step_s:g} s, {counted(partitions, 'partition')}"
    log.info("saved %s in %s", what, args.file)
    return 0
