"""CPU time and memory of a process and all its descendants, from /proc, and which core a process runs on.

`restow bench consumer` and bench/cycle.py measure with it.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
ENDED: Final = (FileNotFoundError, ProcessLookupError)
THREADS: Final = {  # by the beginning of the name that Linux shows
    "C1 Compiler": "JIT compiler",
    "C2 Compiler": "JIT compiler",
    "VM Thread": "garbage collection",  # on one core the serial collector, which runs here
    "GC Thread": "garbage collection",
    "G1 ": "garbage collection",
    "Executor task": "Spark's tasks",
}
JVM, PYTHON = "rest of the JVM", "Python"


def cores() -> list[int]:
    """The cores that this process may use."""
    return sorted(os.sched_getaffinity(0))


@contextmanager
def on_cores(numbers: Sequence[int]) -> Iterator[None]:
    """Processes that this thread starts in the block run on these cores, and so do theirs."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, numbers)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def busy_s(numbers: Sequence[int]) -> float:
    """CPU time of these cores, over all processes."""
    names, found = {f"cpu{number}" for number in numbers}, 0
    for line in Path("/proc/stat").read_text().splitlines():
        name, *times = line.split()
        if name in names:
            user, nice, system, _, _, interrupts, soft = map(int, times[:7])
            found += user + nice + system + interrupts + soft
    return found / TICKS_PER_S


def tree_cpu_s(process: int) -> float:
    """CPU time of a process and all its descendants, including ended ones."""
    return _tree_ticks(process) / TICKS_PER_S


def _tree_ticks(process: int) -> int:
    try:
        own = _ticks(Path(f"/proc/{process}/stat"))
    except ENDED:  # counted by its parent
        return 0
    return sum(own) + sum(map(_tree_ticks, children_of(process)))


def tree_memory_bytes(process: int) -> int:
    """The proportional set size: pages that processes share are divided among them."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except ENDED:
        return 0
    own = sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return own + sum(map(tree_memory_bytes, children_of(process)))


def tree_threads_cpu_s(process: int) -> dict[str, float]:
    """CPU time by kind of thread, of the threads that live now."""
    found: dict[str, float] = {}
    try:
        is_java = Path(f"/proc/{process}/comm").read_text().startswith("java")
        tasks = list(Path(f"/proc/{process}/task").iterdir())
    except ENDED:
        return found
    for task in tasks:
        try:
            name, ticks = (task / "comm").read_text(), _ticks(task / "stat")[:2]
        except ENDED:
            continue
        kinds = (kind for beginning, kind in THREADS.items() if name.startswith(beginning))
        kind = next(kinds, JVM) if is_java else PYTHON
        found[kind] = found.get(kind, 0.0) + sum(ticks) / TICKS_PER_S
    for child in children_of(process):
        for kind, seconds in tree_threads_cpu_s(child).items():
            found[kind] = found.get(kind, 0.0) + seconds
    return found


def children_of(process: int) -> list[int]:
    """Children of a thread that ended belong to another one."""
    found = []
    try:
        for task in Path(f"/proc/{process}/task").iterdir():
            try:
                found += [int(child) for child in (task / "children").read_text().split()]
            except ENDED:
                continue
    except ENDED:
        return []
    return found


def _ticks(stat: Path) -> list[int]:
    """User and system time of the process or thread, then of its children that ended and were waited for."""
    return [int(field) for field in stat.read_text().rpartition(")")[2].split()[11:15]]
