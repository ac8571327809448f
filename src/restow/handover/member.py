"""A member's process: `python -m restow.handover.member OPTIONS`, with the options as JSON.

It writes a line for each piece of its progress, and ends in order on SIGTERM or when its standard input is closed.
"""

import json
import signal
import sys
import threading
import time
from pathlib import Path

from restow.kafka.membership import GroupMember
from restow.settings import Kafka


def main(options: str) -> None:
    given = json.loads(options)
    end = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: end.set())

    def wait_for_end() -> None:
        sys.stdin.read()
        end.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    member = GroupMember(
        Kafka(given["bootstrap"]), given["group"], given["topic"], given["protocol"], given["instance"]
    )
    with Path(given["file"]).open("a", buffering=1) as file:

        def processed(partition: int, first: int, after: int) -> None:
            file.write(f"{time.time():.6f} {partition} {first} {after}\n")

        member.run(processed, end.is_set)


if __name__ == "__main__":
    main(*sys.argv[1:])
