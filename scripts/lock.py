"""Resolves pyproject.toml into requirements/run.txt and dev.txt, for every supported Python. `make lock` runs it."""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
OPTIONS = (
    "--universal",
    "--python-version=3.11",
    "--generate-hashes",
    "--no-emit-index-url",
    "--no-header",
    "--upgrade",
)
LOCKS: dict[str, tuple[str, ...]] = {
    "requirements/run.txt": (),
    "requirements/dev.txt": ("--extra=dev", "--extra=bench"),
}


def main() -> int:
    # uv resolves for all Pythons at once, which pip cannot; it is a tool of this one job and lives only as long.
    with tempfile.TemporaryDirectory() as scratch:
        venv.create(scratch, with_pip=True)
        python = str(Path(scratch, "bin", "python"))
        subprocess.run([python, "-m", "pip", "install", "--quiet", "uv"], check=True)
        for lock, extras in LOCKS.items():
            command = [python, "-m", "uv", "pip", "compile", "pyproject.toml", *OPTIONS, *extras, "-q", "-o", lock]
            subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "UV_PYTHON": python})
    return 0


if __name__ == "__main__":
    sys.exit(main())
