"""The fixture of a whole group."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.live_groups import Eventually, LiveGroup

from restow.kafka.admin import Admin
from restow.settings import Kafka


@pytest.fixture
def group(kafka: Kafka, admin: Admin, prefix: str, tmp_path: Path, eventually: Eventually) -> Iterator[LiveGroup]:
    group = LiveGroup(kafka, admin, prefix, tmp_path, eventually)
    yield group
    group.end()
