"""`KubernetesPlatform`: the platform that runs each consumer as a pod of a cluster. A controller has one.

Its state belongs to the calling thread alone. Watch threads hand over what they see in a queue; requests run on a
thread pool while the caller waits for them. __init__.py has the overview.
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
from restow.platform.kubernetes.api import Api, ApiError, Rejected, metadata_of
from restow.platform.kubernetes.change_tracker import ChangeTracker, ConfirmedGone, Created, Creation, Observation
from restow.platform.kubernetes.credentials import cluster_of
from restow.platform.kubernetes.identity import identity_of
from restow.platform.kubernetes.inventory import ConsumerObjects, Inventory, selector
from restow.platform.kubernetes.requests import Requests
from restow.platform.kubernetes.retry import RETRY_FOR_S, retrying
from restow.platform.kubernetes.status import deployment_status, pod_status
from restow.platform.kubernetes.watching import QUEUE_SIZE, Watcher
from restow.protocol.consumer_settings import ConsumerSettings
from restow.settings import Settings

log = logging.getLogger(__name__)

CONNECTIONS_BESIDE_REQUESTS: Final = 3
"""Two watches and an inventory read in the background."""
CONFIRM_AGAIN_AFTER_S: Final = 0.3
CONFIRM_UNSEEN_EVERY_S: Final = 10.0
INVALID: Final = (400, 422)

Numbered = tuple[int, PlatformRequest]
"""A request and its place in its batch."""


class KubernetesPlatform:
    def __init__(self, settings: Settings) -> None:
        """Raises InvalidInput or PlatformRefusal if the cluster can't be used."""
        self._settings, self._group = settings, settings.group.name
        self.at_once = settings.kubernetes.requests_at_once
        cluster = cluster_of(settings.kubernetes)
        self.namespace = settings.kubernetes.namespace or cluster.namespace
        self.identity = identity_of(cluster, self.namespace)
        self._digest = objects.digest(settings)
        self._observations: queue.Queue[Observation] = queue.Queue(QUEUE_SIZE)
        self._confirming: Future[tuple[Creation, ...]] | None = None
        self._confirm_again_s = self._confirm_unseen_s = 0.0
        try:
            self._api = Api(cluster, self.namespace, self.at_once + CONNECTIONS_BESIDE_REQUESTS)
        except ApiError as error:
            raise InvalidInput(str(error)) from None
        self._inventory = Inventory(self._api, self._group)
        self._requests = Requests(settings, self._api, self.identity)
        self._request_pool = ThreadPoolExecutor(self.at_once, "request")
        self._background = ThreadPoolExecutor(1, "inventory")
        labels = selector(self._group)
        self._deployments = Watcher(Deployment, "deployments", deployment_status, self._api, labels, self._observations)
        self._pods = Watcher(Pod, "pods", pod_status, self._api, labels, self._observations)
        self._tracker = self._start()

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
        for pool in (self._request_pool, self._background):
            pool.shutdown(cancel_futures=True)
        for watcher in watchers:
            watcher.join()

    def list(self) -> tuple[Listed, ...]:
        found = self._read_inventory(None, _deadline_s())
        return tuple(self._listed(consumer, existing) for consumer, existing in found.items() if existing.is_there)

    def create(self, consumer: ConsumerId, settings: ConsumerSettings) -> None:
        self._take_one(CreateConsumer(consumer, settings))

    def delete(self, consumer: ConsumerId) -> None:
        self._take_one(DeleteConsumer(consumer))

    def restart(self, consumer: ConsumerId, settings: ConsumerSettings) -> None:
        self._take_one(RestartConsumer(consumer, settings))

    def take(self, requests: Sequence[PlatformRequest]) -> tuple[RefusedRequest, ...]:
        """Reads the inventory of all their consumers once, then sends the requests, consumers in parallel."""
        if not requests:
            return ()
        until_s = _deadline_s()
        by_consumer: dict[ConsumerId, list[Numbered]] = defaultdict(list)
        for numbered in enumerate(requests):
            by_consumer[numbered[1].consumer].append(numbered)
        try:
            found = self._read_inventory(list(by_consumer), until_s)
        except PlatformRefusal as refusal:
            return tuple(RefusedRequest(request, str(refusal)) for request in requests)
        in_flight = [
            self._request_pool.submit(self._take_for, numbered, found[consumer], until_s)
            for consumer, numbered in by_consumer.items()
        ]
        refused: dict[int, str] = {}
        for future in in_flight:
            refusals, created = future.result()
            refused |= refusals
            for creation in created:
                self._tracker.observe(Created(creation))
        return tuple(
            RefusedRequest(request, refused[index]) for index, request in enumerate(requests) if index in refused
        )

    def changes(self) -> tuple[PlatformChange, ...]:
        self._observe()
        self._confirm_missing()
        changes = self._tracker.take_changes()
        for consumer, reason in self._tracker.newly_unschedulable(time.monotonic()):
            log.warning("consumer %s waits for a node: %s", consumer, reason)
        return changes

    def has_crash(self) -> bool:
        return self._observe() and self._tracker.has_crash()

    def _observe(self) -> bool:
        """Hands the tracker what the watches have seen. Returns whether that was anything."""
        count = self._observations.qsize()
        for _ in range(count):
            self._tracker.observe(self._observations.get_nowait())
        return count > 0

    def _start(self) -> ChangeTracker:
        try:
            self._check_pod_settings()
            return ChangeTracker(
                retrying(self._deployments.start, _deadline_s()), retrying(self._pods.start, _deadline_s())
            )
        except ApiError as error:
            self.close()
            raise PlatformRefusal(str(error)) from None
        except RestowError:
            self.close()
            raise

    def _check_pod_settings(self) -> None:
        """Asks the cluster, by a dry run, whether it would accept consumers. Raises InvalidInput if not."""
        sample = objects.deployment(
            self._settings, ConsumerId(1), self._settings.consumer.settings, uuid.uuid4().hex, uuid.uuid4().hex
        )
        try:
            retrying(lambda: self._api.create(sample, dry_run=True), _deadline_s())
        except Rejected as rejected:
            if rejected.code in INVALID:
                raise InvalidInput(f"Kubernetes rejects consumers as restow.toml describes them: {rejected}") from None

    def _read_inventory(
        self, consumers: Sequence[ConsumerId] | None, until_s: float
    ) -> dict[ConsumerId, ConsumerObjects]:
        try:
            return retrying(lambda: self._inventory.read(consumers), until_s)
        except ApiError as error:
            raise PlatformRefusal(str(error)) from None

    def _listed(self, consumer: ConsumerId, existing: ConsumerObjects) -> Listed:
        if existing.deployment is None:
            return Listed(consumer, leaving=True)
        annotations: dict[str, str] = metadata_of(existing.deployment).annotations or {}
        settings = annotations.get(names.SETTINGS)
        if settings is not None and annotations.get(names.TEMPLATE) != self._digest:
            settings = f"{settings}, and other pod settings than [kubernetes] has now"
        return Listed(consumer, settings=settings)

    def _take_one(self, request: PlatformRequest) -> None:
        for refused in self.take((request,)):
            raise PlatformRefusal(refused.reason)

    def _take_for(
        self, requests: Sequence[Numbered], existing: ConsumerObjects, until_s: float
    ) -> tuple[dict[int, str], tuple[Creation, ...]]:
        """Carries out one consumer's requests in order. Returns what was refused, and what was created."""
        refused: dict[int, str] = {}
        created: list[Creation] = []
        for place, (index, request) in enumerate(requests):
            try:
                now = existing if place == 0 else self._requests.existing(request.consumer, until_s)
                if (creation := self._requests.carry_out(request, now, until_s)) is not None:
                    created.append(creation)
            except (RestowError, ApiError) as error:
                refused[index] = str(error)
        return refused, tuple(created)

    def _confirm_missing(self) -> None:
        """Reads the inventory, in the background, of consumers that the watches no longer show: are they gone?"""
        now_s = time.monotonic()
        if self._confirming is not None and self._confirming.done():
            self._tracker.observe(ConfirmedGone(self._confirming.result()))
            self._confirming, self._confirm_again_s = None, now_s + CONFIRM_AGAIN_AFTER_S
        if self._confirming is not None or now_s < self._confirm_again_s:
            return
        missing = self._tracker.missing(unseen_too=now_s >= self._confirm_unseen_s)
        if now_s >= self._confirm_unseen_s:
            self._confirm_unseen_s = now_s + CONFIRM_UNSEEN_EVERY_S
        if missing:
            self._confirming = self._background.submit(self._gone_of, missing)

    def _gone_of(self, missing: Sequence[Creation]) -> tuple[Creation, ...]:
        try:
            found = self._read_inventory(sorted({consumer for consumer, _ in missing}), _deadline_s())
        except PlatformRefusal:
            return ()  # an API server that doesn't answer makes no consumer gone
        awaits_claims = self._settings.kubernetes.claims == "delete"
        return tuple(
            (consumer, creation)
            for consumer, creation in missing
            if creation not in found[consumer].creations and not (awaits_claims and found[consumer].claim_is_leaving)
        )


def _deadline_s() -> float:
    return time.monotonic() + RETRY_FOR_S
