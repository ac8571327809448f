import argparse
from pathlib import Path

import pytest

from restow.cli.support.config import add_config, settings_of
from restow.errors import InvalidInput
from restow.settings import Settings


def given(*arguments: str) -> Settings:
    parser = argparse.ArgumentParser()
    add_config(parser)
    return settings_of(parser.parse_args(arguments))


def test_the_settings_of_the_current_directory_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "restow.toml").write_text('[kafka]\nbootstrap = "here:9092"\n[group]\nname = "lake"')
    monkeypatch.chdir(tmp_path)
    assert given().kafka.bootstrap == "here:9092"


def test_another_file_can_be_named_and_sees_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "other.toml"
    file.write_text('[kafka]\nbootstrap = "${BROKER}:9092"\n[group]\nname = "lake"')
    monkeypatch.setenv("BROKER", "there")
    assert given("--config", str(file)).kafka.bootstrap == "there:9092"


def test_a_missing_file_is_refused_with_what_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput) as caught:
        given()
    assert str(caught.value) == ("there is no restow.toml; write one with `restow init`, or name one with --config")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="is not UTF-8 text; settings are TOML"):
        given("--config", str(tmp_path / "x"))
    with pytest.raises(InvalidInput, match="can't be read: Is a directory; name a settings file"):
        given("--config", str(tmp_path))


def test_paths_start_in_the_directory_of_the_file_wherever_the_command_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "restow.toml").write_text('[kafka]\nbootstrap = "here:9092"\n[group]\nname = "lake"\n')
    for working, named in (("a", "restow.toml"), ("b", "../a/restow.toml"), ("b", str(tmp_path / "a" / "restow.toml"))):
        monkeypatch.chdir(tmp_path / working)
        found = Path(given("--config", named).located("lake/orders"))
        assert found.is_absolute()
        assert found.resolve() == tmp_path.resolve() / "a" / "lake" / "orders"


def test_a_link_to_the_file_counts_as_the_file(tmp_path: Path) -> None:
    """As in a pod: the kubelet replaces the directory that the link points to with every update of the ConfigMap."""
    (tmp_path / "..data").mkdir()
    (tmp_path / "..data" / "restow.toml").write_text('[kafka]\nbootstrap = "here:9092"\n[group]\nname = "lake"\n')
    (tmp_path / "restow.toml").symlink_to("..data/restow.toml")
    assert given("--config", str(tmp_path / "restow.toml")).directory == str(tmp_path)
