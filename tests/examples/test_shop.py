"""The shop's settings, and the errors for mistakes in them. tests/test_readme.py runs its pipeline."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.paths import ROOT

from restow.cli.main import main
from restow.protocol.topic_service import TopicService
from restow.settings import Kafka, read_settings

SHOP = ROOT / "examples" / "shop"
SETTINGS = (SHOP / "restow.toml").read_text(encoding="utf-8")


def test_each_topic_has_a_table_and_a_transform() -> None:
    assert dict(read_settings(SETTINGS, "restow.toml", {}).consume) == {
        "clicks": TopicService(table="lake/clicks", transform="shop:clicks"),
        "orders": TopicService(table="lake/orders", transform="shop:orders"),
    }


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ('table = "lake/orders"', 'tabel = "o"', "[consume.orders] there is no setting 'tabel'; did you mean 'table'?"),
        (
            '"shop:orders"',
            '"shop.orders"',
            "[consume.orders] transform is 'shop.orders'; it must be module:function",
        ),
        (
            "capacity_bytes_per_s = 2000000",
            'capacity_bytes_per_s = "much"',
            '[consumer] capacity_bytes_per_s = "much" can\'t be used; it must be a finite number, above 0',
        ),
        ("[kafka]", "[kafak]", "there is no table [kafak]; did you mean 'kafka'?"),
        (
            '"shop:clicks"',
            '"shop:clicks"\nstart = "monday"',
            "[consume.clicks] start is 'monday'; it must be earliest, latest or a time like 2026-03-01T12:00:00Z",
        ),
    ],
)
def test_a_mistake_is_reported_with_its_file_its_key_and_what_would_be_right(
    right: str, wrong: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert SETTINGS.count(right) == 1
    file = tmp_path / "restow.toml"
    file.write_text(SETTINGS.replace(right, wrong))
    assert main(["check", "--config", str(file)]) == 1
    assert f"wrong    {file}: {told}" in capsys.readouterr().out.splitlines()


def produce(kafka: Kafka, directory: Path, *args: str) -> float:
    """Seconds that produce.py took."""
    (directory / "restow.toml").write_text(f'[kafka]\nbootstrap = "{kafka.bootstrap}"\n')
    program = shutil.copy(SHOP / "produce.py", directory)
    begun_s = time.monotonic()
    subprocess.run((sys.executable, program, *args), check=True, capture_output=True)
    return time.monotonic() - begun_s


def test_orders_are_spread_over_the_seconds_that_were_asked_for(kafka: Kafka, tmp_path: Path) -> None:
    at_once_s = produce(kafka, tmp_path, "--orders", "300")
    assert 4.0 <= produce(kafka, tmp_path, "--orders", "300", "--seconds", "4") < 4.0 + 2.0 * at_once_s + 1.0
