"""The data directory of an embedded broker: any other directory is refused and left alone."""

import json
from pathlib import Path

import pytest

from restow.errors import InvalidInput
from restow.kafka.embedded.data import kept_directory, temporary_directory


def refusal(path: Path, nodes: int = 1) -> str:
    with pytest.raises(InvalidInput) as caught:
        kept_directory(path, nodes)
    return str(caught.value)


def test_a_directory_is_created_and_the_same_cluster_is_found_again(tmp_path: Path) -> None:
    first = kept_directory(tmp_path / "new" / "data", 3)
    first.close()
    second = kept_directory(tmp_path / "new" / "data", 3)
    second.close()
    assert second.cluster_id == first.cluster_id
    assert second.path == (tmp_path / "new" / "data").resolve()


def test_a_temporary_directory_is_removed_when_it_is_closed() -> None:
    data = temporary_directory(1)
    assert data.path.is_dir()
    data.close()
    assert not data.path.exists()


def test_a_directory_with_other_things_in_it_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("words")
    assert refusal(tmp_path) == (
        f"{tmp_path} is not a data directory of restow broker: it holds thesis.tex; give a new or an empty one"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert refusal(tmp_path / "file") == (
        f"{tmp_path / 'file'} can't be used for data: File exists; give a directory that can"
    )


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    user = kept_directory(tmp_path, 1)
    assert refusal(tmp_path) == (f"{tmp_path} is in use by another broker; stop that one, or give another directory")
    user.close()
    kept_directory(tmp_path, 1).close()


def test_a_cluster_of_another_size_is_refused(tmp_path: Path) -> None:
    kept_directory(tmp_path, 3).close()
    assert refusal(tmp_path, 1) == f"{tmp_path} holds a cluster of 3 nodes, not 1; use --nodes 3"


def test_data_of_a_newer_kafka_is_refused(tmp_path: Path) -> None:
    note = {"format": 1, "kafka": "9.0.0", "nodes": 1, "cluster_id": "x"}
    (tmp_path / "broker.json").write_text(json.dumps(note))
    assert refusal(tmp_path) == f"{tmp_path} was written by Kafka 9.0.0; this is 4.3.1: give a new directory"


@pytest.mark.parametrize("note", ["", "[]", "{}", '{"format": 1, "kafka": "x", "nodes": 1, "cluster_id": "x"}'])
def test_an_unreadable_note_is_refused(note: str, tmp_path: Path) -> None:
    (tmp_path / "broker.json").write_text(note)
    assert refusal(tmp_path) == (
        f"{tmp_path / 'broker.json'} can't be understood; give a new directory, or remove this one"
    )
