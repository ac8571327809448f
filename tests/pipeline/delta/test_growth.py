"""Commits to a maintained table stay fast; to an unmaintained one they don't. bench/delta_growth.py measures it."""

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
"""Of a commit's median CPU time, from the first hundred to the last. On a busy machine it was 0.7 to 1.3 with
maintenance, and 4.2 to 5.5 after 250 commits without."""


def test_commits_stay_fast_with_maintenance_and_become_slow_without() -> None:
    command = [
        sys.executable,
        str(BENCH),
        "--tables",
        "maintained,unmaintained",
        "--commits",
        "1500",
        "--unmaintained-commits",
        "250",
    ]
    output = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, timeout=300, env={**os.environ, **IN_MEMORY}
    ).stdout
    found = {measured["table"]: measured for measured in map(json.loads, output.splitlines())}
    assert found["maintained"]["growth"] < MOST_GROWTH < found["unmaintained"]["growth"], output
    assert found["maintained"]["files"] < 200, output
    assert found["maintained"]["log_entries"] < 1200, output
