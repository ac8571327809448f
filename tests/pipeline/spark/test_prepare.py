"""What Spark needs is prepared once; a class archive that can't be built is a warning, and not tried at every start."""

import logging
import os
import time
from pathlib import Path

import pytest

from restow.java.jars import KAFKA, cache_dir
from restow.pipeline.spark import prepare
from restow.pipeline.spark.class_archive import archive_path
from restow.pipeline.spark.jars import CONNECTOR
from restow.pipeline.spark.prepare import prepare_spark

STARTS = "archiving Spark's classes once"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Both bundles seem to be there and hold no jar, so that the program that builds the archive fails at once."""
    monkeypatch.setenv("RESTOW_CACHE", str(tmp_path))
    for bundle in (KAFKA, CONNECTOR):
        (cache_dir() / f"{bundle.name}-{bundle.version}").mkdir(parents=True)
    monkeypatch.setattr(prepare, "MODULE", "restow.no_such_module")
    caplog.set_level(logging.INFO, "restow")


def test_an_archive_that_is_there_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    archive_path().parent.mkdir()
    archive_path().write_bytes(b"classes")
    prepare_spark()
    assert caplog.messages == []
    assert archive_path().read_bytes() == b"classes"


def test_a_failure_is_a_warning_and_is_tried_again_a_day_later(caplog: pytest.LogCaptureFixture) -> None:
    prepare_spark()
    first, failed = caplog.messages
    assert first.startswith(STARTS)
    assert "No module named restow.no_such_module" in failed
    assert failed.endswith("; Spark works without the archive, but starts more slowly")
    prepare_spark()
    assert len(caplog.messages) == 2
    failure = archive_path().with_suffix(".failed")
    yesterday_s = time.time() - prepare.TRY_AGAIN_AFTER_S - 1
    os.utime(failure, (yesterday_s, yesterday_s))
    prepare_spark()
    assert [message for message in caplog.messages if message.startswith(STARTS)] == [first, first]


def test_a_cache_that_can_t_be_written_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "classes").write_text("a file where the directory would be")
    prepare_spark()
    [words] = caplog.messages
    assert words.endswith("; Spark works without the archive, but starts more slowly")
