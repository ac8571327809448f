from pathlib import Path

import pytest

from restow.errors import RestowError
from restow.java.runtime import find_java


def java_that_says(directory: Path, version: str) -> Path:
    java = directory / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{version}' >&2\n")
    java.chmod(0o755)
    return java


def test_the_error_without_java_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RestowError) as caught:
        find_java()
    assert str(caught.value) == (
        "Java 17 or newer is needed and there is none in the PATH; install it: apt-get install openjdk-17-jre-headless"
    )


@pytest.mark.parametrize(
    ("words", "version"), [('openjdk version "11.0.2" 2019-01-15', 11), ('java version "1.8.0_292"', 8)]
)
def test_an_old_java_is_an_error(words: str, version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = java_that_says(tmp_path, words)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(RestowError) as caught:
        find_java()
    assert str(caught.value) == (
        f"{java} is Java {version}; 17 or newer is needed; install it: apt-get install openjdk-17-jre-headless"
    )


def test_java_home_comes_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = java_that_says(tmp_path, 'openjdk version "21" 2023-09-19')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert find_java() == java


def test_a_program_that_is_no_java_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java_that_says(tmp_path, "hello")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(RestowError, match="doesn't report its version"):
        find_java()
