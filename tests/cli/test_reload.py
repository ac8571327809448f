"""`restow reload` says what will happen, and asks the controller for it."""

from pathlib import Path

import pytest

from restow.cli.main import main
from restow.cli.support.local_modules import local_modules
from restow.platform.processes.files import DesiredState, Home
from restow.platform.processes.reloading import ReloadRequests
from restow.platform.processes.roles import RunningRole
from restow.platform.processes.supervisors import run_directory
from restow.protocol.consumer_settings import ConsumerSettings
from restow.settings import read_settings

SETTINGS = """
[kafka]
bootstrap = "nowhere:9092"
[group]
name = "lake"
platform = "{platform}"
[processes]
directory = "{directory}"
[consume.orders]
transform = "shop:orders"
"""


class Place:
    """A group's directory, with consumers that were started with certain code."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.config = directory / "data", directory / "restow.toml"
        self.module = directory / "shop.py"
        self.module.write_text("def orders(records): return records")
        self.write_settings("processes")
        self.requests = ReloadRequests("lake", self.directory)

    def write_settings(self, platform: str) -> None:
        self.config.write_text(SETTINGS.format(platform=platform, directory=self.directory))

    @property
    def code(self) -> str:
        digest = local_modules(read_settings(self.config.read_text(), "restow.toml", {}), self.config, {}).digest
        assert digest is not None
        return digest

    def has(self, *codes: str | None, wanted: bool = True) -> None:
        for number, code in enumerate(codes, 1):
            home = run_directory("lake", self.directory) / f"lake-consumer-{number}"
            home.mkdir(parents=True)
            settings = ConsumerSettings(code=code).fingerprint
            Home(home).set_desired(DesiredState(f"{number}", wanted, 1, ("true",), "/", "/", 1.0, settings=settings))

    def reload(self) -> int:
        return main(["reload", "--config", str(self.config)])


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_consumers_with_other_code_are_restarted_by_the_controller(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.has("old", place.code, None)
    with RunningRole("lake", place.directory, "controller"):
        assert place.reload() == 0
    said = capsys.readouterr().out
    assert said.startswith("the controller (process ")
    assert said.endswith(
        f") restarts consumers 1, 3 with code {place.code}, one after the other; its log has the progress\n"
    )
    assert (place.requests.is_new(), place.requests.is_new()) == (True, False)


def test_without_a_controller_it_counts_when_one_starts(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.has("old")
    with RunningRole("lake", place.directory, "monitor"):
        assert place.reload() == 0
    assert capsys.readouterr().out == (
        f"no controller of group lake runs here; when one starts, it restarts consumer 1 with code {place.code}\n"
    )


def test_unchanged_code_restarts_none(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.has(place.code, place.code)
    assert place.reload() == 0
    assert capsys.readouterr().out == (
        f"nothing to restart: every consumer of group lake has code {place.code} already\n"
    )
    assert place.requests.is_new(), "a controller that knows other code reads it again all the same"


def test_a_group_that_never_ran_has_nothing_to_restart(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    assert place.reload() == 0
    assert capsys.readouterr().out == "nothing to restart: group lake has no consumers here\n"


def test_a_module_that_is_no_python_is_not_reloaded(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.has("old")
    place.module.write_text("import json\ndef orders(records) return records")
    assert place.reload() == 1
    assert f"nothing is reloaded: {place.module} can't be imported: SyntaxError: expected ':', line 2" in (
        capsys.readouterr().err
    )
    assert not place.requests.is_new()


def test_pods_get_their_modules_with_the_manifests(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.write_settings("kubernetes")
    assert place.reload() == 2
    assert f"`restow manifests --config {place.config} | kubectl apply" in capsys.readouterr().err


def test_a_directory_that_cant_be_written_is_named(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.directory.write_text("a file")
    assert place.reload() == 1
    assert str(place.directory) in capsys.readouterr().err
