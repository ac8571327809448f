"""Jars are fetched by the real Ivy, from a repository that is a directory of the test's own."""

import logging
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from restow.errors import RestowError
from restow.java.jars import Bundle, Jar, fetch

pytestmark = pytest.mark.slow

HELLO = Bundle("hello", "1.0", (Jar("org.hello", "hello-core", "1.0"),))


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    jars = tmp_path / "repository"
    jars.mkdir()
    settings = tmp_path / "settings.xml"
    settings.write_text(
        '<ivysettings><settings defaultResolver="here"/><resolvers><filesystem name="here">'
        f'<artifact pattern="{jars}/[module]-[revision].[ext]"/></filesystem></resolvers></ivysettings>'
    )
    monkeypatch.setenv("RESTOW_IVY_SETTINGS", str(settings))
    monkeypatch.setenv("RESTOW_CACHE", str(tmp_path / "cache"))
    return jars


@pytest.fixture
def published(repository: Path) -> Path:
    with zipfile.ZipFile(repository / "hello-core-1.0.jar", "w") as jar:
        jar.writestr("hello.txt", "hello")
    return repository


def test_jars_are_fetched_once_and_then_found_without_java_or_network(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "restow.java")  # not restow.waiting: that depends on the machine
    home = fetch(HELLO)
    assert home == tmp_path / "cache" / "jars" / "hello-1.0"
    assert [path.name for path in home.iterdir()] == ["hello-core-1.0.jar"]
    assert caplog.messages == [f"fetching hello 1.0 once, into {home}; this takes about a minute", "fetched hello 1.0"]
    (published / "hello-core-1.0.jar").unlink()
    monkeypatch.setenv("PATH", "")
    assert fetch(HELLO) == home
    assert len(caplog.messages) == 2


@pytest.mark.usefixtures("repository")
def test_a_missing_jar_is_an_error_of_one_line_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(RestowError) as caught:
        fetch(HELLO)
    assert str(caught.value) == (
        "hello 1.0 can't be fetched: module not found: org.hello#hello-core;1.0; is the network reachable?"
    )
    assert [path.name for path in (tmp_path / "cache" / "jars").iterdir()] == ["hello-1.0.lock"]


def test_a_missing_network_is_an_error_of_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESTOW_CACHE", str(tmp_path))
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=1")
    with pytest.raises(RestowError) as caught:
        fetch(HELLO)
    assert str(caught.value).startswith("hello 1.0 can't be fetched: Server access error at url ")
    assert str(caught.value).endswith("(java.net.ConnectException: Connection refused); is the network reachable?")


@pytest.mark.usefixtures("published")
def test_the_remains_of_an_interrupted_fetch_are_removed_and_never_used(tmp_path: Path) -> None:
    left = tmp_path / "cache" / "jars" / ".hello-1.0-abc"
    (left / "jars").mkdir(parents=True)
    (left / "jars" / "half.jar").write_text("half")
    assert [path.name for path in fetch(HELLO).iterdir()] == ["hello-core-1.0.jar"]
    assert not left.exists()


@pytest.mark.usefixtures("published")
def test_of_many_concurrent_callers_one_fetches(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "restow.java")  # not restow.waiting: that depends on the machine
    with ThreadPoolExecutor(4) as pool:
        homes = set(pool.map(lambda _: fetch(HELLO), range(4)))
    assert len(homes) == 1
    assert caplog.messages[1:] == ["fetched hello 1.0"]
