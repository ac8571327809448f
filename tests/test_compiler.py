"""What is compiled is kept, and never outlives its source."""

import subprocess
import sys
from pathlib import Path

from restow.compiler import fingerprint

CALLED = """
from restow.compiler import compiler

compiled = compiler(__file__, ("called", "caller"))

@compiled
def number():
    return {number}
"""
CALLER = """
from called import compiled, number

@compiled
def twice():
    return 2 * number()

print(twice())
"""


def run(folder: Path) -> str:
    done = subprocess.run([sys.executable, "caller.py"], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def kept(folder: Path) -> list[Path]:
    return list(folder.glob("__pycache__/compiled-*/*/caller.twice*.nbi"))


def test_a_change_in_a_called_module_is_seen_in_its_callers(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(CALLER)
    (tmp_path / "called.py").write_text(CALLED.format(number=4))
    assert run(tmp_path) == "8"
    assert len(kept(tmp_path)) == 1
    # of another length: Python itself tells a source from its bytecode by whole seconds and by size
    (tmp_path / "called.py").write_text(CALLED.format(number=50))
    assert run(tmp_path) == "100"
    assert len(kept(tmp_path)) == 2


def test_the_fingerprint_tells_sources_apart(tmp_path: Path) -> None:
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("a = 1\n")
    two.write_text("b = 2\n")
    before = fingerprint((one, two))
    assert fingerprint((one, two)) == before
    two.write_text("b = 3\n")
    assert fingerprint((one, two)) != before
