"""The wheel in a clean virtual environment: what is in it, and its commands."""

import re
import zipfile
from pathlib import Path

import pytest
from tests.support.paths import ROOT
from tests.support.wheel import Installation, build_wheel

from restow import __version__

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return Installation(tmp_path_factory.mktemp("machine"), wheel)


def test_the_wheel_has_every_module_its_data_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    source = ROOT / "src"
    wanted = {str(file.relative_to(source)) for file in source.rglob("*.py")}
    wanted |= {"restow/py.typed", "restow/pipeline/spark/log4j2.properties"}
    wanted |= {f"restow/page/static/{file.name}" for file in (source / "restow/page/static").iterdir()}
    assert {name for name in names if ".dist-info/" not in name} == wanted


def test_it_runs_from_its_own_files_and_knows_every_command(installed: Installation, tmp_path: Path) -> None:
    code = "import restow; print(restow.__file__)"
    assert installed.run("python", "-c", code, within=tmp_path).stdout.startswith(str(installed.packages))
    assert installed.run("restow", "--version", within=tmp_path).stdout == f"restow {__version__}\n"
    listed = installed.run("restow", "--help", within=tmp_path).stdout
    commands = re.findall(r"^    ([a-z]+)\b", listed, re.MULTILINE)
    assert {"demo", "check", "consume", "monitor", "controller", "down"} <= set(commands)
    for command in commands:
        helped = installed.run("restow", command, "--help", within=tmp_path)
        assert (helped.returncode, helped.stderr) == (0, ""), command
