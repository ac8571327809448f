"""`KubernetesPlatform`: the platform that runs each consumer as a pod of a cluster. A controller's process has one.

Its own state is the caller's thread's alone. Watchers hand over what they see in a queue; requests run on a pool of
threads, and the caller waits for them. See __init__.py.
"""

import logging
import queue
import time
import uuid
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Final, Self

from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import Pod

from restow.errors import InvalidInput, RestowError
from restow.model import ConsumerId
from restow.platform.interface import (
    CreateConsumer,
    DeleteConsumer,
    Listed,
    PlatformChange,
    PlatformRefusal,
    PlatformRequest,
    RefusedRequest,
    RestartConsumer,
)
from restow.platform.kubernetes import names, objects
from restow.platform.kubernetes.api import Answered, Api, Trouble, metadata_of
from restow.platform.kubernetes.change_tracker import Asked, Creation, FoundGone, News, Teller
from restow.platform.kubernetes.credentials import cluster_of
from restow.platform.kubernetes.inventory import Looked, look, selector
from restow.platform.kubernetes.requests import Wishes
from restow.platform.kubernetes.retry import PATIENCE_S, patiently
from restow.platform.kubernetes.status import deployment_seen, pod_seen
from restow.platform.kubernetes.watching import ROOM, Watcher
from restow.protocol.messages import ConsumerSettings
from restow.settings import Settings

log = logging.getLogger(__name__)

BESIDE_REQUESTS: Final = 3
"""Connections that two watches and a look in the background need."""
LOOK_AGAIN_AFTER_S: Final = 0.3
LOOK_FOR_UNSEEN_EVERY_S: Final = 10.0
INVALID: Final = (400, 422)

Numbered = tuple[int, PlatformRequest]
"""A wish and its place among those that came with it."""


class KubernetesPlatform:
    def __init__(self, settings: Settings) -> None:
        """Raises InvalidInput or PlatformRefusal where the cluster can't be used."""
        self._settings, self._group = settings, settings.group.name
        self.at_once = settings.kubernetes.requests_at_once
        cluster = cluster_of(settings.kubernetes)
        self.namespace = settings.kubernetes.namespace or cluster.namespace
        self._digest = objects.digest(settings)
        self._news: queue.Queue[News] = queue.Queue(ROOM)
        self._looking: Future[tuple[Creation, ...]] | None = None
        self._look_again_s = self._unseen_again_s = 0.0
        try:
            self._api = Api(cluster, self.namespace, self.at_once + BESIDE_REQUESTS)
        except Trouble as trouble:
            raise InvalidInput(str(trouble)) from None
        self._wishes = Wishes(settings, self._api)
        self._requests = ThreadPoolExecutor(self.at_once, "request")
        self._background = ThreadPoolExecutor(1, "look")
        labels = selector(self._group)
        self._deployments = Watcher(Deployment, "deployments", deployment_seen, self._api, labels, self._news)
        self._pods = Watcher(Pod, "pods", pod_seen, self._api, labels, self._news)
        self._teller = self._begin()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        watchers = (self._deployments, self._pods)
        for watcher in watchers:
            watcher.end()
        self._api.close()
        for pool in (self._requests, self._background):
            pool.shutdown(cancel_futures=True)
        for watcher in watchers:
            watcher.join()

    def list(self) -> tuple[Listed, ...]:
        looked = self._look(None, _deadline_s())
        return tuple(self._listed(consumer, each) for consumer, each in looked.items() if each.is_there)

    def create(self, consumer: ConsumerId, settings: ConsumerSettings) -> None:
        self._take_one(CreateConsumer(consumer, settings))

    def delete(self, consumer: ConsumerId) -> None:
        self._take_one(DeleteConsumer(consumer))

    def restart(self, consumer: ConsumerId, settings: ConsumerSettings) -> None:
        self._take_one(RestartConsumer(consumer, settings))

    def take(self, requests: Sequence[PlatformRequest]) -> tuple[RefusedRequest, ...]:
        """One look at all of their consumers, then each consumer's requests beside the others'."""
        if not requests:
            return ()
        until_s = _deadline_s()
        by_consumer: dict[ConsumerId, list[Numbered]] = defaultdict(list)
        for numbered in enumerate(requests):
            by_consumer[numbered[1].consumer].append(numbered)
        try:
            looked = self._look(list(by_consumer), until_s)
        except PlatformRefusal as refusal:
            return tuple(RefusedRequest(request, str(refusal)) for request in requests)
        under_way = [
            self._requests.submit(self._take_for, some, looked[consumer], until_s)
            for consumer, some in by_consumer.items()
        ]
        refused: dict[int, str] = {}
        for future in under_way:
            refusals, created = future.result()
            refused |= refusals
            for creation in created:
                self._teller.hear(Asked(creation))
        return tuple(
            RefusedRequest(request, refused[index]) for index, request in enumerate(requests) if index in refused
        )

    def changes(self) -> tuple[PlatformChange, ...]:
        for _ in range(self._news.qsize()):
            self._teller.hear(self._news.get_nowait())
        self._look_for_the_missing()
        told = self._teller.tell()
        for line in self._teller.lines(time.monotonic()):
            log.warning(line)
        return told

    def _begin(self) -> Teller:
        try:
            self._try_out()
            return Teller(patiently(self._deployments.begin, _deadline_s()), patiently(self._pods.begin, _deadline_s()))
        except Trouble as trouble:
            self.close()
            raise PlatformRefusal(str(trouble)) from None
        except RestowError:
            self.close()
            raise

    def _try_out(self) -> None:
        """Whether pods as restow.toml describes them would be taken, before a group waits for one."""
        sample = objects.deployment(
            self._settings, ConsumerId(1), self._settings.consumer.settings, uuid.uuid4().hex, uuid.uuid4().hex
        )
        try:
            patiently(lambda: self._api.create(sample, dry_run=True), _deadline_s())
        except Answered as answer:
            if answer.code in INVALID:
                raise InvalidInput(f"Kubernetes can't take consumers as restow.toml describes them: {answer}") from None

    def _look(self, consumers: Sequence[ConsumerId] | None, until_s: float) -> dict[ConsumerId, Looked]:
        try:
            return patiently(lambda: look(self._api, self._group, consumers), until_s)
        except Trouble as trouble:
            raise PlatformRefusal(str(trouble)) from None

    def _listed(self, consumer: ConsumerId, looked: Looked) -> Listed:
        if looked.deployment is None:
            return Listed(consumer, leaving=True)
        annotations: dict[str, str] = metadata_of(looked.deployment).annotations or {}
        settings = annotations.get(names.SETTINGS)
        if settings is not None and annotations.get(names.TEMPLATE) != self._digest:
            settings = f"{settings}, and other pod settings than [kubernetes] has now"
        return Listed(consumer, settings=settings)

    def _take_one(self, wish: PlatformRequest) -> None:
        for refused in self.take((wish,)):
            raise PlatformRefusal(refused.reason)

    def _take_for(
        self, wishes: Sequence[Numbered], looked: Looked, until_s: float
    ) -> tuple[dict[int, str], tuple[Creation, ...]]:
        """Those of one consumer, in order: what was refused, and what was created."""
        refused: dict[int, str] = {}
        created: list[Creation] = []
        for place, (index, wish) in enumerate(wishes):
            try:
                now = looked if place == 0 else self._wishes.look(wish.consumer, until_s)
                if (creation := self._wishes.take(wish, now, until_s)) is not None:
                    created.append(creation)
            except (RestowError, Trouble) as error:
                refused[index] = str(error)
        return refused, tuple(created)

    def _look_for_the_missing(self) -> None:
        """Those that watches show no more are looked for, in the background, until they are found to be gone."""
        now_s = time.monotonic()
        if self._looking is not None and self._looking.done():
            self._teller.hear(FoundGone(self._looking.result()))
            self._looking, self._look_again_s = None, now_s + LOOK_AGAIN_AFTER_S
        if self._looking is not None or now_s < self._look_again_s:
            return
        missing = self._teller.missing(unseen_too=now_s >= self._unseen_again_s)
        if now_s >= self._unseen_again_s:
            self._unseen_again_s = now_s + LOOK_FOR_UNSEEN_EVERY_S
        if missing:
            self._looking = self._background.submit(self._gone_of, missing)

    def _gone_of(self, missing: Sequence[Creation]) -> tuple[Creation, ...]:
        try:
            looked = self._look(sorted({consumer for consumer, _ in missing}), _deadline_s())
        except PlatformRefusal:
            return ()  # nobody is said to be gone because nobody answers
        awaits_claims = self._settings.kubernetes.claims == "delete"
        return tuple(
            (consumer, creation)
            for consumer, creation in missing
            if creation not in looked[consumer].creations and not (awaits_claims and looked[consumer].claim_is_leaving)
        )


def _deadline_s() -> float:
    return time.monotonic() + PATIENCE_S
