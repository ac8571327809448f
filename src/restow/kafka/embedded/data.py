"""The data directory of an embedded broker: temporary, or given by the user and kept.

DIR/broker.json    the cluster's id, its number of nodes and its version of Kafka
DIR/lock           locked while a process uses the directory, even a node that is still shutting down
DIR/node-1/        a node's configuration, log and data
"""

import json
import shutil
import uuid
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from restow.durable import try_lock, write_atomically
from restow.errors import InvalidInput
from restow.java.jars import KAFKA
from restow.scratch import LOCK, new_directory

NOTE = "broker.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class DataDirectory:
    path: Path
    cluster_id: str
    temporary: bool
    lock: IO[str]

    def node(self, number: int) -> Path:
        return self.path / f"node-{number}"

    def close(self) -> None:
        """Releases the directory; removes a temporary one."""
        if self.temporary:
            shutil.rmtree(self.path, ignore_errors=True)
        self.lock.close()


def temporary_directory(nodes: int) -> DataDirectory:
    """Removed with the broker; after a kill of everything, by the next command that needs such a directory."""
    with new_directory("broker") as path:
        return _open(path, nodes, temporary=True)


def kept_directory(path: Path, nodes: int) -> DataDirectory:
    """Opens a directory that is new, empty, or from an embedded broker with as many nodes. Raises InvalidInput."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        strangers = sorted(entry.name for entry in path.iterdir())
        if strangers and NOTE not in strangers and strangers != [LOCK]:
            raise InvalidInput(
                f"{path} is not a data directory of restow broker: it holds {strangers[0]}; give a new or an empty one"
            )
        return _open(path.resolve(), nodes, temporary=False)
    except OSError as error:
        raise InvalidInput(f"{path} can't be used for data: {error.strerror}; give a directory that can") from None


def _open(path: Path, nodes: int, *, temporary: bool) -> DataDirectory:
    lock = _lock(path)
    try:
        return DataDirectory(path, _cluster_id(path / NOTE, nodes), temporary, lock)
    except BaseException:
        lock.close()
        raise


def _lock(path: Path) -> IO[str]:
    lock = (path / LOCK).open("w")
    if not try_lock(lock.fileno()):
        lock.close()
        raise InvalidInput(f"{path} is in use by another broker; stop that one, or give another directory")
    return lock


def _cluster_id(note: Path, nodes: int) -> str:
    """Reads the cluster's id from the note. Writes the note with a new id first if there is none."""
    if not note.exists():
        cluster_id = new_id()
        content = {"format": FORMAT, "kafka": KAFKA.version, "nodes": nodes, "cluster_id": cluster_id}
        write_atomically(note, json.dumps(content).encode())
        return cluster_id
    try:
        noted = json.loads(note.read_text())
        cluster_id, noted_nodes, version = str(noted["cluster_id"]), int(noted["nodes"]), str(noted["kafka"])
        known = noted["format"] == FORMAT
        newer = tuple(map(int, version.split("."))) > tuple(map(int, KAFKA.version.split(".")))
    except (ValueError, KeyError, TypeError):
        raise InvalidInput(f"{note} can't be understood; give a new directory, or remove this one") from None
    if newer or not known:
        raise InvalidInput(
            f"{note.parent} was written by Kafka {version}; this is {KAFKA.version}: give a new directory"
        )
    if noted_nodes != nodes:
        raise InvalidInput(
            f"{note.parent} holds a cluster of {noted_nodes} nodes, not {nodes}; use --nodes {noted_nodes}"
        )
    return cluster_id


def new_id() -> str:
    """A UUID as Kafka writes it. Its first bit is 0, so that no id starts with a dash and looks like an option."""
    number = uuid.uuid4().bytes
    return urlsafe_b64encode(bytes([number[0] & 0x7F]) + number[1:]).decode().rstrip("=")
