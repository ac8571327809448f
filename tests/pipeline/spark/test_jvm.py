"""The JVM's stderr on its way to ours."""

import subprocess
from collections.abc import Callable

import pytest

from restow.pipeline.spark.jvm import _filtered_stderr

JAVA = (
    "echo 'WARNING: Using incubator modules: jdk.incubator.vector' >&2; "
    "echo 'java.lang.OutOfMemoryError: Java heap space' >&2"
)


def test_java_s_standing_warning_is_left_out_and_errors_are_not(
    capfd: pytest.CaptureFixture[str], eventually: Callable[..., None]
) -> None:
    with _filtered_stderr() as stderr:
        subprocess.run(("sh", "-c", JAVA), stderr=stderr, check=True)
    written = ""

    def has_come() -> bool:
        nonlocal written
        written += capfd.readouterr().err
        return written.endswith("space\n")

    eventually(has_come)
    assert written == "java.lang.OutOfMemoryError: Java heap space\n"
