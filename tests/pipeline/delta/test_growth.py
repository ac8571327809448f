"""Commits to a table stay fast, and opening a maintained one does too; an unmaintained one opens ever slower.
bench/delta_growth.py measures it."""

import json
import os
import subprocess
import sys

import pytest
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

IN_MEMORY = {"TMPDIR": "/dev/shm"} if os.access("/dev/shm", os.W_OK) else {}
"""The disk's own speed doesn't count."""

BENCH = ROOT / "bench" / "delta_growth.py"

MOST_GROWTH = 2.0
"""Of a commit's median CPU time, from the first hundred to the last. On a busy machine it was 1.0 to 1.1."""


def test_commits_stay_fast_and_so_does_opening_with_maintenance() -> None:
    tables = ("--tables", "a-day,unmaintained", "--commits", "800", "--unmaintained-commits", "250")
    output = subprocess.run(
        [sys.executable, str(BENCH), *tables],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
        env={**os.environ, **IN_MEMORY},
    ).stdout
    found = {measured["table"]: measured for measured in map(json.loads, output.splitlines())}
    a_day, unmaintained = found["a-day"], found["unmaintained"]
    assert a_day["growth"] < MOST_GROWTH, output
    assert 2 * a_day["open_cpu_ms"] < unmaintained["open_cpu_ms"], output
    assert a_day["files"] < 200, output
