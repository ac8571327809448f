"""The contender `bare`: confluent-kafka reads as fast as it can, and does nothing with the records."""

import json
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any, Final

from restow.kafka.rereading import Rereader
from restow.settings import Kafka
from restow.study.throughput import Case

AT_ONCE: Final = 10_000
REPORT_EVERY_S: Final = 0.5


def run(name: str, case: Case, options: Mapping[str, Any], end: threading.Event) -> None:
    """Prints a line [time, records] whenever it has read for a while."""
    reader = Rereader(Kafka(options["bootstrap"]), f"bench-{name}", case.by_topic)
    records, reported_s = 0, time.time()
    while not end.is_set():
        records += len(reader.take(AT_ONCE, 0.5))
        if (now_s := time.time()) >= reported_s + REPORT_EVERY_S:
            sys.stdout.write(f"{json.dumps([now_s, records])}\n")
            sys.stdout.flush()
            records, reported_s = 0, now_s
    reader.close()
