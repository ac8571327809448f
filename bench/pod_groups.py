"""The groups that `takeover_on_pods.py` kills consumers of, light and on Spark, and its own watch of their pods."""

import threading
import time
from contextlib import suppress
from typing import Final

import duckdb
from deltalake import DeltaTable
from httpx2 import HTTPError
from lightkube import ApiError, Client
from lightkube.resources.core_v1 import Pod
from tests.support.kubernetes.cluster.node import Node
from tests.support.kubernetes.groups import PodGroup, uid_of

from restow.controller.events import ClockTicked
from restow.handover.stored import DeltaProgress
from restow.platform.interface import ConsumerCrashed

AGAIN_AFTER_S: Final = 0.1


class LightPods(PodGroup):
    settled_s = 0.0
    """How long a consumer works after its start, before the next kill."""

    def has_all(self) -> bool:
        """Whether every produced record is stored."""
        return len(self.stored()) == len(self.produced)

    def crash_heard_s(self, consumer: int) -> float:
        """When the controller last heard of a crash of the consumer, by the monotonic clock that all processes of this
        machine share."""
        now_s = heard_s = 0.0
        for entry in self._logged():
            match entry.event:
                case ClockTicked():
                    now_s = entry.event.now_s
                case ConsumerCrashed(crashed) if crashed == consumer:
                    heard_s = now_s
        return heard_s


class SparkPods(LightPods):
    consumer = f'pipeline = "spark"\nimage = "{Node.restow}"\nmemory_mb = 900'
    grace_s = 60.0
    patience_s = 600.0
    settled_s = 10.0
    """Spark's code is compiled while it works."""
    progress: DeltaProgress | None = None

    def has_all(self) -> bool:
        """By the log of the table alone: to read its rows again and again would take the consumers' cores."""
        if self.progress is None:
            self.progress, self.at = DeltaProgress(self.table), dict[int, int]()
        self.at |= {each.partition: each.next for each in self.progress.new()}
        return sum(self.at.values()) == len(self.produced)

    def stored(self) -> list[str]:
        files = DeltaTable(self.table).file_uris() if DeltaTable.is_deltatable(str(self.table)) else []
        if not files:
            return []
        with duckdb.connect() as engine:
            rows = engine.execute("SELECT decode(value) FROM read_parquet($files)", {"files": files}).fetchall()
        return [value for (value,) in rows]


KINDS: Final[dict[str, type[LightPods]]] = {"light": LightPods, "spark": SparkPods}


class PodWatch:
    """Notes when the API server first shows that a container of a pod has ended."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._ended_s: dict[tuple[str, int], float] = {}
        self._is_closing = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def close(self) -> None:
        self._is_closing.set()

    def ended_s(self, pod: Pod, endings: int) -> float:
        """When the pod's containers had ended so often, by the monotonic clock; infinity if that was not seen."""
        return self._ended_s.get((uid_of(pod), endings), float("inf"))

    def _watch(self) -> None:
        while not self._is_closing.wait(AGAIN_AFTER_S):
            with suppress(HTTPError, ApiError):  # it expired, or the cluster ends
                for _, pod in self._client.watch(Pod):
                    self._note(pod)

    def _note(self, pod: Pod) -> None:
        for status in (pod.status and pod.status.containerStatuses) or ():
            ended = status.restartCount + bool(status.state and status.state.terminated)
            self._ended_s.setdefault((uid_of(pod), ended), time.monotonic())
