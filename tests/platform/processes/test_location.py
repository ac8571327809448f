"""A group is found wherever a command is given, because its directory is relative to restow.toml."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import pytest
from tests.platform.processes.conftest import Eventually, ProcessMaker

from restow.cli import main
from restow.cli.controller import default_log, local_processes, platform_of
from restow.cli.support.config import settings_from
from restow.cli.support.recorded import recorded
from restow.errors import InvalidInput
from restow.model import ConsumerId
from restow.platform.processes.ending import end_group
from restow.platform.processes.location import directory_of
from restow.platform.processes.roles import running_roles
from restow.protocol.consumer_settings import ConsumerSettings

ONE = ConsumerId(1)
TEXT = """
[kafka]
bootstrap = "127.0.0.1:9"
[group]
name = "a"
[consumer]
grace_s = 0.5
[consume.orders]
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    (tmp_path / "elsewhere").mkdir()
    file = tmp_path / "here" / "restow.toml"
    file.write_text(TEXT)
    return file


@pytest.fixture
def group(config: Path, eventually: Eventually) -> Iterator[ProcessMaker]:
    """With a consumer, as a controller in the directory of restow.toml would have started it."""
    processes = ProcessMaker(config.with_name("restow-data"), eventually)
    processes.make().create(ONE, processes.well)
    processes.until_works(ONE)
    yield processes
    end_group("a", processes.directory, grace_s=0.0, progress=print)


def test_a_controller_that_starts_elsewhere_sees_the_consumers(
    config: Path, group: ProcessMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(config.parent.with_name("elsewhere"))
    settings = settings_from(Path("../here/restow.toml"))
    with ExitStack() as ending:
        platform = platform_of(settings, Path("../here/restow.toml"), ending)
        assert [listed.consumer for listed in platform.list()] == [ONE]
        for role in ("controller", "monitor"):
            recorded(role, settings, Event().wait, ending)
        assert [role.name for role in running_roles("a", group.directory)] == ["controller", "monitor"]
    log = config.with_name("restow-data") / "a-controller" / "events"
    assert default_log(settings).resolve() == log.resolve()
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.usefixtures("group")
def test_down_ends_the_group_from_anywhere(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(config.parent.with_name("elsewhere"))
    assert main(["down", "--config", "../here/restow.toml"]) == 0
    assert capsys.readouterr().out == "ended a-consumer-1\n"


def test_a_group_that_an_older_version_runs_in_the_working_directory_is_an_error_that_names_both(
    config: Path, group: ProcessMaker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A controller would start a second set of consumers, and `restow down` would say that nothing runs."""
    moved = config.parent.with_name("elsewhere") / "restow.toml"
    config.rename(moved)
    monkeypatch.chdir(config.parent)
    with pytest.raises(InvalidInput) as caught:
        directory_of(settings_from(moved))
    assert str(caught.value) == (
        f'[processes] directory = "restow-data": group a is in {group.directory}, relative to the working directory, '
        f"where an older version put it, and not in {moved.with_name('restow-data')}, relative to restow.toml. To "
        f'continue there, write directory = "{group.directory}". To move it, write that, end the group with `restow '
        "down`, move the directory, and remove the line"
    )
    assert main(["down", "--config", str(moved)]) == 2
    assert capsys.readouterr().err == f"restow: {caught.value}\n"
    moved.write_text(f'{TEXT}[processes]\ndirectory = "{group.directory}"\n')
    assert main(["down", "--config", str(moved)]) == 0
    assert capsys.readouterr().out == "ended a-consumer-1\n"


def test_groups_of_other_names_in_the_working_directory_are_none_of_ours(
    config: Path, group: ProcessMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = config.parent.with_name("elsewhere") / "restow.toml"
    other.write_text(TEXT.replace('name = "a"', 'name = "b"'))
    monkeypatch.chdir(config.parent)
    assert directory_of(settings_from(other)) == other.with_name("restow-data")
    assert group.process(ONE)


def test_a_directory_that_a_group_has_left_is_no_obstacle(
    config: Path, group: ProcessMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["down", "--volumes", "--config", str(config)]) == 0
    moved = config.parent.with_name("elsewhere") / "restow.toml"
    config.rename(moved)
    monkeypatch.chdir(config.parent)
    assert directory_of(settings_from(moved)) == moved.with_name("restow-data")
    assert group.directory.is_dir()


def test_consumers_import_nothing_from_the_working_directory(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = config.parent.with_name("elsewhere")
    (elsewhere / "logging.py").write_text("raise SystemExit('this is the module of another program')")
    monkeypatch.chdir(elsewhere)
    platform = local_processes(settings_from(config), config, config.with_name("restow-data"))
    command = platform._command(ONE, config.with_name("volume"), ConsumerSettings())
    answer = subprocess.run([*command, "--help"], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stderr) == (0, "")
