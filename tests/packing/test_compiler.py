"""The cache of compiled code is used, and never outlives its source."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from restow.packing.compiler import fingerprint, writable

pytestmark = pytest.mark.slow

CALLED = """
from restow.packing.compiler import compiler

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
UNPRIVILEGED = ("setpriv", "--bounding-set=-all", "--inh-caps=-all") if os.geteuid() == 0 else ()
"""Runs as a user who is bound by file permissions."""


def run(folder: Path, how: tuple[str, ...] = ()) -> str:
    command = [*how, sys.executable, "caller.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


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


def test_the_cache_is_used_on_a_read_only_file_system(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(f"{CALLER}print(sum(twice.stats.cache_hits.values()))")
    (tmp_path / "called.py").write_text(CALLED.format(number=4))
    assert run(tmp_path) == "8\n0"
    before = sorted(tmp_path.rglob("*"))
    folders = [tmp_path, *(path for path in before if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        assert run(tmp_path, UNPRIVILEGED) == "8\n1"
    finally:
        for folder in folders:
            folder.chmod(0o755)
    assert sorted(tmp_path.rglob("*")) == before


def test_the_fingerprint_distinguishes_sources(tmp_path: Path) -> None:
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("a = 1\n")
    two.write_text("b = 2\n")
    before = fingerprint((one, two))
    assert fingerprint((one, two)) == before
    two.write_text("b = 3\n")
    assert fingerprint((one, two)) != before


def test_a_package_that_can_t_be_written_is_compiled_into_the_user_s_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESTOW_CACHE", str(tmp_path / "cache"))
    package = tmp_path / "package"
    package.touch()  # a file: nothing can be written below it, not even by root
    kept = writable(package / "__pycache__" / "compiled-1234")
    assert kept == tmp_path / "cache" / "compiled" / "compiled-1234"
    assert kept.is_dir()


def test_a_cache_that_can_t_be_written_either_costs_a_folder_for_each_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "package").touch()
    (tmp_path / "cache").touch()
    monkeypatch.setenv("RESTOW_CACHE", str(tmp_path / "cache"))
    kept = writable(tmp_path / "package" / "compiled-1234")
    assert kept.name.startswith("restow-compiled-")
    assert kept.is_dir()


def test_compiling_is_reported_and_loading_is_not(tmp_path: Path) -> None:
    reporting = CALLER.replace("print(twice())", "with on_compiling(lambda: print('compiling')):\n    print(twice())")
    (tmp_path / "caller.py").write_text(f"from restow.packing.compiler import on_compiling\n{reporting}")
    (tmp_path / "called.py").write_text(CALLED.format(number=4))
    assert run(tmp_path) == "compiling\n8"
    assert run(tmp_path) == "8"
