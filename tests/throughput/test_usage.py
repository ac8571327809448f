"""CPU time and memory of processes, and the cores they run on."""

import os
import subprocess
import sys

from restow.throughput.usage import (
    PYTHON,
    children_of,
    cores,
    on_cores,
    tree_cpu_s,
    tree_memory_bytes,
    tree_threads_cpu_s,
)

CHILD = "held = bytearray(50_000_000); print(sum(range(3_000_000)), flush=True); input()"
PARENT = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {CHILD!r}], stdin=subprocess.PIPE)
input()
child.communicate(b"\\n")
print("ended", flush=True)
input()
"""


def test_the_time_and_memory_of_descendants_count_and_time_stays_when_they_have_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdout.readline()  # the child has worked
            [child] = children_of(process.pid)
            alone_s, both_s = tree_cpu_s(child), tree_cpu_s(process.pid)
            assert both_s >= alone_s > 0
            assert tree_memory_bytes(process.pid) > tree_memory_bytes(child) > 50_000_000
            assert set(tree_threads_cpu_s(process.pid)) == {PYTHON}
            process.stdin.write(b"\n")
            process.stdin.flush()
            process.stdout.readline()
            assert children_of(process.pid) == []
            assert tree_cpu_s(process.pid) >= both_s
        finally:
            process.kill()
    assert tree_cpu_s(process.pid) == tree_memory_bytes(process.pid) == 0


def test_processes_that_are_started_in_the_block_run_on_its_cores() -> None:
    before = cores()
    with on_cores(before[-1:]):
        asked = subprocess.run(
            [sys.executable, "-c", "import os; print(os.sched_getaffinity(0))"],
            capture_output=True,
            text=True,
            check=True,
        )
    assert asked.stdout.strip() == str({before[-1]})
    assert sorted(os.sched_getaffinity(0)) == before
