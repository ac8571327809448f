"""deploy/systemd: systemd accepts the units, and they do what restow's processes need."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from tests.support.paths import ROOT

from restow.cli.main import parser
from restow.errors import InvalidInput

UNITS: Final = ROOT / "deploy" / "systemd"
ROLES: Final = ("controller", "monitor")
PROGRAM: Final = "/opt/restow/bin/restow"


def text_of(role: str) -> str:
    return (UNITS / f"restow-{role}@.service").read_text(encoding="utf-8")


def options(role: str) -> dict[str, str]:
    return dict(re.findall(r"^(\w+)=(.*)$", text_of(role), re.MULTILINE))


def complaints(text: str, file: Path) -> list[str]:
    """What `systemd-analyze verify` reports about a unit; its exit code is 0 even if it ignores a line."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed; on Debian: apt-get install systemd")
    file.write_text(text.replace(PROGRAM, sys.executable))  # a program that exists here
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", file], check=False, capture_output=True, text=True, timeout=60
    )
    return [line for line in (done.stdout + done.stderr).splitlines() if file.name.partition("@")[0] in line]


def test_there_is_a_unit_for_each_long_running_role() -> None:
    assert sorted(file.name for file in UNITS.iterdir()) == [f"restow-{role}@.service" for role in ROLES]


@pytest.mark.parametrize("role", ROLES)
def test_systemd_accepts_the_unit(role: str, tmp_path: Path) -> None:
    assert complaints(text_of(role), tmp_path / f"restow-{role}@lake.service") == []


@pytest.mark.parametrize("mistake", ["KillMode=proces", "ExecStart=/no/such/program", "OOMPolicy=go-on"])
def test_systemd_reports_a_mistake(mistake: str, tmp_path: Path) -> None:
    name = mistake.partition("=")[0]
    wrong = re.sub(rf"^{name}=.*$", mistake, text_of("controller"), flags=re.MULTILINE)
    assert len(complaints(wrong, tmp_path / "restow-controller@lake.service")) == 1


@pytest.mark.parametrize("role", ROLES)
def test_the_unit_runs_a_command_of_restow_beside_its_settings(role: str) -> None:
    found = options(role)
    program, *arguments = shlex.split(found["ExecStart"])
    assert program == PROGRAM
    args = parser().parse_args(arguments)
    assert args.config == Path(found["WorkingDirectory"], "restow.toml")
    assert args.run.__module__ == f"restow.cli.{role}"


@pytest.mark.parametrize("role", ROLES)
def test_wrong_settings_are_not_tried_again_and_again(role: str) -> None:
    found = options(role)
    assert found["Restart"] == "on-failure"
    assert found["RestartPreventExitStatus"] == str(InvalidInput.exit_code)


def test_a_controller_s_end_leaves_its_consumers_and_their_files() -> None:
    found = options("controller")
    assert found["KillMode"] == "process"
    assert found["OOMPolicy"] == "continue"
    assert found["PrivateTmp"] == "no"
    assert "RuntimeDirectory" not in found
