import os
import subprocess
import time
from pathlib import Path

import pytest

from restow.java.class_data import KEPT_FOR_S, archive_for, remove_unused, using, writing
from restow.java.runtime import find_java


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    jars = tmp_path / "jars"
    jars.mkdir()
    (jars / "kafka.jar").write_bytes(b"classes")
    return jars


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RESTOW_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_another_jar_or_java_needs_another_archive(jars: Path, tmp_path: Path) -> None:
    java, newer = tmp_path / "java", tmp_path / "newer"
    java.touch()
    newer.touch()
    archive = archive_for(java, jars)
    assert archive == archive_for(java, jars)
    (jars / "kafka.jar").write_bytes(b"other classes")
    assert len({archive, archive_for(java, jars), archive_for(newer, jars), archive_for(java, jars, "edition 2")}) == 4


def test_a_jvm_writes_an_archive_and_later_ones_use_it(tmp_path: Path) -> None:
    archive = tmp_path / "a.jsa"
    assert using(archive) == ()
    assert writing(archive)[0] == f"-XX:ArchiveClassesAtExit={archive}"
    archive.touch()
    assert using(archive)[:2] == (f"-XX:SharedArchiveFile={archive}", "-Xshare:auto")


def test_an_archive_is_mapped_where_it_was_written_for_and_not_copied(tmp_path: Path) -> None:
    java, archive, log = find_java(), tmp_path / "a.jsa", tmp_path / "log"
    subprocess.run([java, *writing(archive), "-version"], check=True, capture_output=True)
    subprocess.run([java, *using(archive), f"-Xlog:cds=info:file={log}", "-version"], check=True, capture_output=True)
    assert "Mapped dynamic region" in log.read_text()
    assert "alternative address" not in log.read_text()


def test_an_archive_that_is_not_used_for_a_month_is_removed(tmp_path: Path) -> None:
    used, unused = tmp_path / "used.jsa", tmp_path / "unused.jsa"
    month_ago = time.time() - KEPT_FOR_S - 1
    for archive in (used, unused):
        archive.touch()
        archive.with_suffix(".lock").touch()
        os.utime(archive, (month_ago, month_ago))
    using(used)
    remove_unused(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["used.jsa", "used.lock"]
