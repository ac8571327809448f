"""A Spark session for each test file of the Spark pipeline, and a lake for each test."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.paths import TRANSFORMS
from tests.support.registry import SchemaRegistry, running_registry
from tests.support.s3.store import ObjectStore, StoreDoor, environment, opened, running_store
from tests.support.spark.live import QUICK, Lake

from restow.kafka.admin import Admin
from restow.pipeline.spark.engine import Engine
from restow.pipeline.spark.session import Resources
from restow.settings import Group, Kafka, Settings


@pytest.fixture(scope="module")
def session(kafka: Kafka) -> Iterator[None]:
    """One for all tests of this file: while it runs, every engine gets it."""
    engine = Engine(Settings(kafka, Group("lake"), spark=QUICK), Resources(cores=1.0, memory_mb=1200))
    engine.start(lambda: False)
    yield
    engine.close()


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SchemaRegistry]:
    """One for the whole session: tests have subjects of their own."""
    with running_registry(tmp_path_factory.mktemp("registry")) as found:
        yield found


@pytest.fixture(scope="session")
def object_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    """One S3 server for the whole session: tests have buckets of their own."""
    with running_store(tmp_path_factory.mktemp("store")) as found:
        yield found


@pytest.fixture
def door(object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[StoreDoor]:
    """In front of the S3 server. The test's own process comes through it."""
    with opened(object_store) as found:
        for name, value in environment(found.port).items():
            monkeypatch.setenv(name, value)
        yield found


@pytest.fixture
def lake(
    session: None,  # noqa: ARG001  it has to be there
    kafka: Kafka,
    admin: Admin,
    prefix: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> Iterator[Lake]:
    caplog.set_level(logging.INFO, "restow")
    monkeypatch.syspath_prepend(str(TRANSFORMS))
    lake = Lake(kafka, admin, prefix, tmp_path, caplog)
    yield lake
    for pipeline in lake.pipelines:
        pipeline.close()
