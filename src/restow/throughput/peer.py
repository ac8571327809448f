"""A peer's process: `python -m restow.throughput.peer NAME OPTIONS`, with the options as JSON.

It works until its standard input is closed.
"""

import json
import sys
import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from restow.study.throughput import BARE, LOOP, STREAMING, TUNED, Case

MODULES: Final = {
    BARE: "restow.throughput.bare",
    LOOP: "restow.throughput.loop",
    STREAMING: "restow.throughput.streaming",
    TUNED: "restow.throughput.streaming",
}


def main(name: str, options: str) -> None:
    end = threading.Event()

    def wait_for_end() -> None:
        sys.stdin.read()
        end.set()

    threading.Thread(target=wait_for_end, daemon=True).start()
    given: Mapping[str, Any] = json.loads(options)
    # Each loads only its own libraries.
    run: Callable[..., None] = import_module(MODULES[name]).run
    run(name, Case(**given["case"]), given, end)


if __name__ == "__main__":
    main(*sys.argv[1:])
