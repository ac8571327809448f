"""Pods are restarted when the settings of consumers change, and not for those of other roles."""

from pathlib import Path
from typing import Any

import pytest

from restow.cli.support.consumers_config import with_config_digest
from restow.settings import read_settings

BASE = """
[kafka]
bootstrap = "{bootstrap}"
sasl.password = "${PASSWORD}"
[group]
name = "lake"
[consume.orders]
transform = "orders:orders"
table = "lake/orders"
"""


def pod(directory: Path, text: str = "", bootstrap: str = "a:1", password: str = "x") -> dict[str, Any]:
    whole = BASE.replace("{bootstrap}", bootstrap) + text
    settings = read_settings(whole, "restow.toml", {"PASSWORD": password})
    return dict(with_config_digest(settings, directory / "restow.toml").kubernetes.pod)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "orders.py").write_text("import prices")
    (tmp_path / "prices.py").write_text("one = 1")
    (tmp_path / "other.py").write_text("")
    return tmp_path


def test_settings_of_consumers_change_the_digest(directory: Path) -> None:
    before = pod(directory)
    changed = [
        pod(directory, bootstrap="b:1"),
        pod(directory, "[spark]\nspark.sql.ansi.enabled = true"),
        pod(directory, "[consumer]\ncycle_s = 2.0"),
        pod(directory, "[table]\nfile_mb = 1"),
        pod(directory, "[log]\nformat = 'json'"),
    ]
    (directory / "prices.py").write_text("one = 2")
    changed.append(pod(directory))
    assert len({each["metadata"]["annotations"]["restow/config"] for each in (before, *changed)}) == 7


def test_settings_of_other_roles_do_not(directory: Path) -> None:
    before = pod(directory)
    (directory / "other.py").write_text("more")
    assert pod(directory, "[controller]\nworth = 2.0\n[monitor]\nwindow_s = 9.0", password="y") == before


def test_a_broken_module_stops_no_controller(directory: Path) -> None:
    (directory / "prices.py").write_text("def (")
    assert list(pod(directory)["metadata"]["annotations"]) == ["restow/config"]


def test_other_annotations_stay(directory: Path) -> None:
    own = pod(
        directory, "[kubernetes.pod.metadata.annotations]\nteam = 'lake'\n[kubernetes.pod.spec]\nhostNetwork = true"
    )
    note = pod(directory)["metadata"]["annotations"]["restow/config"]
    assert own == {
        "metadata": {"annotations": {"team": "lake", "restow/config": note}},
        "spec": {"hostNetwork": True},
    }
    assert pod(directory, "[kubernetes.pod]\nmetadata = 3") == {"metadata": 3}
