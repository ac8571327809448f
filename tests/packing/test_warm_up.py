"""What a process compiles or loads before its first decision: everything, so that no live decision waits for it."""

import subprocess
import sys

import pytest

LISTED = """
from restow.packing import ours, ship, warm_up

warm_up()
for name, value in {**vars(ours), **vars(ship)}.items():
    if hasattr(value, "signatures"):
        print(name, len(value.signatures))
"""


@pytest.mark.slow
def test_a_decision_of_any_size_finds_all_code_ready() -> None:
    found = subprocess.run([sys.executable, "-c", LISTED], capture_output=True, text=True, timeout=300, check=True)
    signatures = dict(line.split() for line in found.stdout.splitlines())
    assert {"place_all", "drain", "exchange_some", "exchange_moved"} <= signatures.keys()
    assert set(signatures.values()) == {"1"}, "each is compiled, and for one kind of arguments"
