"""`restow record` on a real monitor topic, and the commands that read its file."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from restow.cli.main import main
from restow.clock import utc_now
from restow.kafka.admin import Admin
from restow.kafka.channels.publisher import Publisher
from restow.kafka.clients import make_producer
from restow.kafka.topics import wait_until_shown
from restow.model import SortedMapping, TopicPartition
from restow.protocol.measurement import Measurement, PartitionSpeed, encode, headers_of
from restow.protocol.measurement_parts import records_of
from restow.settings import Kafka


def settings(kafka: Kafka, prefix: str, directory: Path) -> str:
    file = directory / "restow.toml"
    file.write_text(f'[kafka]\nbootstrap = "{kafka.bootstrap}"\n[group]\nname = "{prefix}"\n')
    return str(file)


def publish(kafka: Kafka, topic: str, ages_s: list[float]) -> None:
    """Measurements of these ages, with a speed of 1,000 B/s per second of age."""
    producer, now_s = make_producer(kafka), time.time()
    for age_s in ages_s:
        at_s = now_s - age_s
        stamp = datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        speed = PartitionSpeed(0.0, 1000.0 * age_s, 1.0, 7, None, False)
        measurement = Measurement(stamp, 30.0, SortedMapping({TopicPartition("orders", 0): speed}))
        producer.produce(topic, encode(measurement), partition=0, timestamp=round(at_s * 1000))
    producer.produce(topic, b"not a measurement", partition=0)
    assert producer.flush(30) == 0


def test_the_newest_history_becomes_a_trace_that_simulate_reads(
    kafka: Kafka, admin: Admin, prefix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, file = settings(kafka, prefix, tmp_path), str(tmp_path / "speeds.json")
    admin.create_topic(f"{prefix}-monitor", 1)
    wait_until_shown(admin, {f"{prefix}-monitor": 1})
    publish(kafka, f"{prefix}-monitor", [7300.0, 310.0, 280.0, 250.0, 220.0])
    assert main(["record", "--config", config, file]) == 0
    assert f"saved 4 steps of 30 s, 1 partition in {file}" in capsys.readouterr().err
    speeds = [310_000.0, 280_000.0, 250_000.0, 220_000.0]
    assert json.loads(Path(file).read_text()) == [{"orders": {"0": speed}} for speed in speeds]

    assert main(["record", "--for", "265s", "--config", config, file]) == 0
    assert [step["orders"]["0"] for step in json.loads(Path(file).read_text())] == speeds[2:]

    assert main(["simulate", "--workload", file, "--json"]) == 0
    assert main(["study", "packing", "--trace", file, "--capacity", "2400000", "--json"]) == 0


def test_a_measurement_in_parts_is_read_as_one_and_an_incomplete_one_is_not(
    kafka: Kafka, admin: Admin, prefix: str, tmp_path: Path
) -> None:
    topic, file = f"{prefix}-monitor", tmp_path / "speeds.json"
    admin.create_topic(topic, 1)
    wait_until_shown(admin, {topic: 1})
    large = {TopicPartition("orders", number): PartitionSpeed(0.0, 5.0, 1.0, 7, None, False) for number in range(9000)}
    measurement, headers = Measurement(utc_now(), 30.0, SortedMapping(large)), headers_of("monitor-1", prefix)
    publisher = Publisher(kafka, topic, 60.0)
    lost, *others = records_of(measurement, "monitor-1/1", headers)
    assert len(others) > 1
    publisher.publish_all(others)
    assert main(["record", "--config", settings(kafka, prefix, tmp_path), str(file)]) == 1
    publisher.publish_all([lost, *others])
    assert main(["record", "--config", settings(kafka, prefix, tmp_path), str(file)]) == 0
    [step] = json.loads(file.read_text())
    assert step == {"orders": {str(number): 5.0 for number in range(9000)}}


def test_without_a_topic_or_measurements_it_says_so_and_writes_nothing(
    kafka: Kafka, admin: Admin, prefix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, file = settings(kafka, prefix, tmp_path), tmp_path / "speeds.json"
    assert main(["record", "--config", config, str(file)]) == 1
    assert f"can't read the measurements on {prefix}-monitor: there is no such " in capsys.readouterr().err
    admin.create_topic(f"{prefix}-monitor", 1)
    wait_until_shown(admin, {f"{prefix}-monitor": 1})
    assert main(["record", "--config", config, str(file)]) == 1
    assert f"{prefix}-monitor has no measurements of the last 3600 s" in capsys.readouterr().err
    assert not file.exists()


@pytest.mark.parametrize(
    "command", [("simulate",), ("study",), ("study", "packing"), ("study", "latency"), ("study", "monitor")]
)
def test_help_says_which_file_is_read_and_what_writes_it(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "JSON array with one object" in told
    assert '[{"orders": {"0": 812.5, "1": 90}}, …]' in told
    assert "`restow record FILE` writes one" in told
