"""The embedded broker: it starts, keeps or removes its data, and leaves no process behind."""

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from restow.errors import InvalidInput, RestowError
from restow.kafka.admin import Admin
from restow.kafka.embedded.broker import EmbeddedKafka
from restow.kafka.topics import wait_until_shown
from restow.settings import Kafka

pytestmark = pytest.mark.kafka

Eventually = Callable[[Callable[[], object]], None]
Write = Callable[..., None]
Read = Callable[[Kafka, str, int], list[str]]


def is_alive(process_id: int) -> bool:
    """A zombie, whose parent has not looked yet, has ended."""
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def members_of(group: int) -> list[int]:
    """The living processes of a process group."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and is_alive(int(entry.name)):
            try:
                if os.getpgid(int(entry.name)) == group:
                    found.append(int(entry.name))
            except ProcessLookupError:
                continue
    return found


def test_written_records_are_read(kafka: Kafka, admin: Admin, prefix: str, write: Write, read: Read) -> None:
    admin.create_topic(prefix, 1)
    wait_until_shown(admin, {prefix: 1})
    write(kafka, prefix, "one", "two", "three")
    assert read(kafka, prefix, 3) == ["one", "two", "three"]


def test_a_temporary_broker_leaves_no_process_and_no_file() -> None:
    with EmbeddedKafka() as broker:
        [group], [log] = broker.process_ids, broker.logs
        assert "KafkaRaftServer" in log.read_text()
        assert len(members_of(group)) == 2  # the lifeline and Java
    assert members_of(group) == []
    assert not log.parent.parent.exists()


def test_kept_data_is_reused_and_cannot_be_shared(tmp_path: Path, prefix: str, write: Write, read: Read) -> None:
    with EmbeddedKafka(data=tmp_path / "data") as broker:
        kafka = Kafka(broker.bootstrap)
        with Admin(kafka) as admin:
            admin.create_topic(prefix, 1)
            wait_until_shown(admin, {prefix: 1})
        write(kafka, prefix, "kept")
        with pytest.raises(InvalidInput, match="is in use by another broker"):
            EmbeddedKafka(data=tmp_path / "data").start()
    with EmbeddedKafka(data=tmp_path / "data") as broker:
        assert read(Kafka(broker.bootstrap), prefix, 1) == ["kept"]


def test_a_taken_port_is_an_error_before_anything_starts() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InvalidInput) as caught:
            EmbeddedKafka(port=port).start()
    assert str(caught.value) == (f"port {port} of 127.0.0.1 is taken; stop what listens there, or choose another port")


def test_four_nodes_are_too_many() -> None:
    with pytest.raises(InvalidInput, match="4 nodes can't be started; it must be from 1 to 3"):
        EmbeddedKafka(4)


def test_a_node_that_cannot_start_is_an_error_with_its_log_and_leaves_nothing(tmp_path: Path) -> None:
    broker = EmbeddedKafka(data=tmp_path, server={"log.retention.ms": "soon"})
    with pytest.raises(RestowError) as caught:
        broker.start()
    first, *log = str(caught.value).splitlines()
    assert first == "Kafka's node 1 died while it started (exit code 1); its log:"
    assert any("Invalid value soon for configuration log.retention.ms" in line for line in log)
    assert broker.process_ids == ()
    with EmbeddedKafka(data=tmp_path):
        pass  # the directory is free, and good


def test_a_node_that_dies_while_it_serves_is_noticed(eventually: Eventually) -> None:
    with EmbeddedKafka() as broker:
        broker.check()
        [group] = broker.process_ids
        java = next(process for process in members_of(group) if process != group)
        os.kill(java, signal.SIGKILL)
        eventually(lambda: broker.process_ids == ())
        with pytest.raises(RestowError, match=r"Kafka's node 1 died while it served \(exit code 137\)"):
            broker.check()
