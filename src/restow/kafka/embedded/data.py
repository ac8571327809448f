"""The directory an embedded broker keeps its data in: one for each node, and a note that says whose it is.

    DIR/broker.json    the cluster's id, its number of nodes and the Kafka that wrote it
    DIR/lock           held while anything uses the directory, a node that is still ending included
    DIR/node-1/        a node's configuration, log and data

`broker.py` opens one, temporary or given by a person.
"""

import fcntl
import json
import shutil
import tempfile
import uuid
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from restow.errors import InvalidInput
from restow.java.jars import KAFKA

NOTE = "broker.json"
LOCK = "lock"
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
        """Gives the directory up; a temporary one is removed."""
        if self.temporary:
            shutil.rmtree(self.path, ignore_errors=True)
        self.lock.close()


def temporary_directory(nodes: int) -> DataDirectory:
    return _open(Path(tempfile.mkdtemp(prefix="restow-broker-")), nodes, temporary=True)


def kept_directory(path: Path, nodes: int) -> DataDirectory:
    """A person's directory: new, empty, or one that an embedded broker with as many nodes has used before."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        strangers = sorted(entry.name for entry in path.iterdir())
        if strangers and NOTE not in strangers and strangers != [LOCK]:
            raise InvalidInput(
                f"{path} is no data directory of restow broker: it holds {strangers[0]}; give a new or an empty one"
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
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise InvalidInput(f"{path} is in use by another broker; stop that one, or give another directory") from None
    return lock


def _cluster_id(note: Path, nodes: int) -> str:
    """As the note says; a new one is noted before anything else is written, and all at once."""
    if not note.exists():
        cluster_id = _new_cluster_id()
        draft = note.with_suffix(".draft")
        draft.write_text(
            json.dumps({"format": FORMAT, "kafka": KAFKA.version, "nodes": nodes, "cluster_id": cluster_id})
        )
        draft.rename(note)
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


def _new_cluster_id() -> str:
    """As Kafka writes ids. The first bit is 0, so that no id begins with a dash, which would look like an option."""
    number = uuid.uuid4().bytes
    return urlsafe_b64encode(bytes([number[0] & 0x7F]) + number[1:]).decode().rstrip("=")
