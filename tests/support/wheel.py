"""restow's wheel, built and installed into a clean virtual environment.

Dependencies are those of this environment, by a path file, so that tests need no package index except for
setuptools, which builds the wheel.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final

from tests.support.paths import ROOT

WITHIN_S: Final = 900.0
"""On a machine that is busy with other tests, archiving classes and compiling take minutes."""


def build_wheel(directory: Path) -> Path:
    """Built from a copy: setuptools leaves a directory behind and would pack old modules from it."""
    source = directory / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    _pip("wheel", "--no-deps", "--wheel-dir", str(directory), str(source))
    [wheel] = directory.glob("*.whl")
    return wheel


class Installation:
    """A machine on which the wheel was installed just now: a virtual environment and an empty cache."""

    def __init__(self, directory: Path, wheel: Path) -> None:
        self.cache = directory / "cache"
        self._environment = directory / "venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self._environment], check=True)
        _pip("--python", str(self._environment / "bin" / "python"), "install", "--no-deps", str(wheel))
        [self.packages] = self._environment.glob("lib/python3.*/site-packages")
        (self.packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))

    def run(self, *words: str, within: Path) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self._command(words),
            cwd=within,
            env=self._variables(),
            timeout=WITHIN_S,
            check=False,
            capture_output=True,
            text=True,
        )

    def serve(self, *words: str, within: Path) -> "subprocess.Popen[bytes]":
        """Its output goes to a file that is named after the command."""
        with (within / f"{words[1]}.log").open("wb") as log:
            return subprocess.Popen(
                self._command(words), cwd=within, env=self._variables(), stdout=log, stderr=subprocess.STDOUT
            )

    def _command(self, words: tuple[str, ...]) -> list[str]:
        return [str(self._environment / "bin" / words[0]), *words[1:]]

    def _variables(self) -> dict[str, str]:
        return {**_clean_variables(), "RESTOW_CACHE": str(self.cache), "SPARK_LOCAL_IP": "127.0.0.1"}


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", *arguments]
    done = subprocess.run(command, env=_clean_variables(), check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def _clean_variables() -> dict[str, str]:
    """Of a shell that knows nothing of this checkout."""
    of_python = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if name not in of_python}
