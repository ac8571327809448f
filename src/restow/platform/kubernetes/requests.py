"""Creates, restarts and deletes one consumer, given which of its objects exist.

`KubernetesPlatform` calls it from several threads, one for each consumer. A request that fails raises PlatformRefusal
or ApiError; the controller retries it later.
"""

import time
import uuid
from functools import partial
from typing import assert_never

from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import PersistentVolumeClaim

from restow.model import ConsumerId
from restow.platform.interface import CreateConsumer, DeleteConsumer, PlatformRefusal, PlatformRequest, RestartConsumer
from restow.platform.kubernetes import objects
from restow.platform.kubernetes.api import Api, Rejected, metadata_of
from restow.platform.kubernetes.change_tracker import Creation
from restow.platform.kubernetes.inventory import ConsumerObjects, Inventory, label_of
from restow.platform.kubernetes.names import CREATION, consumer_name
from restow.platform.kubernetes.retry import CONFLICT, NOT_FOUND, retrying
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.platform_identity import PlatformIdentity
from restow.settings import Settings


class Requests:
    def __init__(self, settings: Settings, api: Api, platform: PlatformIdentity) -> None:
        self._settings, self._api, self._group = settings, api, settings.group.name
        self._platform = platform
        self._inventory = Inventory(api, self._group)

    def carry_out(self, request: PlatformRequest, existing: ConsumerObjects, until_s: float) -> Creation | None:
        """Returns the new creation, if the request created one."""
        match request:
            case CreateConsumer(consumer, settings):
                return self._create(consumer, settings, existing, until_s)
            case RestartConsumer(consumer, settings):
                self._restart(consumer, settings, existing, until_s)
            case DeleteConsumer():
                self._delete(existing, until_s)
            case _:
                assert_never(request)
        return None

    def existing(self, consumer: ConsumerId, until_s: float) -> ConsumerObjects:
        return retrying(lambda: self._inventory.read((consumer,)), until_s)[consumer]

    def _create(
        self, consumer: ConsumerId, settings: ConsumerSettings, existing: ConsumerObjects, until_s: float
    ) -> Creation | None:
        if existing.deployment is not None:
            return None
        if existing.leaving:
            raise PlatformRefusal(f"consumer {consumer} is still leaving: {', '.join(existing.leaving)}")
        creation, restarted = uuid.uuid4().hex, uuid.uuid4().hex
        deployment = objects.deployment(self._settings, consumer, settings, creation, restarted, self._platform)
        if existing.claim is None:
            self._create_claim(consumer, until_s)
        try:
            retrying(lambda: self._api.create(deployment), until_s)
        except Rejected as rejected:
            if rejected.code != CONFLICT:
                raise
            return self._settle(consumer, creation, until_s)
        return consumer, creation

    def _create_claim(self, consumer: ConsumerId, until_s: float) -> None:
        """Uses a claim of that name without our labels too: an operator may have made it for this consumer."""
        claim = objects.claim(self._settings, consumer)
        try:
            retrying(lambda: self._api.create(claim), until_s)
        except Rejected as rejected:
            if rejected.code != CONFLICT:
                raise

    def _settle(self, consumer: ConsumerId, creation: str, until_s: float) -> Creation | None:
        """A Deployment of that name exists: ours, whose acceptance got lost on the way, or another controller's, or a
        stranger's. Returns the creation if it is ours."""
        there = self.existing(consumer, until_s).deployment
        if there is None:
            name = consumer_name(self._group, consumer)
            raise PlatformRefusal(f"there is a Deployment {name} that doesn't belong to group {self._group}; delete it")
        return (consumer, creation) if label_of(there, CREATION) == creation else None

    def _restart(
        self, consumer: ConsumerId, settings: ConsumerSettings, existing: ConsumerObjects, until_s: float
    ) -> None:
        restarted = uuid.uuid4().hex
        while True:
            old = existing.deployment
            if old is None:
                leaving = ", ".join(existing.leaving)
                why = f"it is leaving: {leaving}" if leaving else "it doesn't exist; create it"
                raise PlatformRefusal(f"consumer {consumer} can't be restarted: {why}")
            new = objects.deployment(
                self._settings, consumer, settings, label_of(old, CREATION), restarted, self._platform
            )
            try:
                retrying(partial(self._api.replace, _in_place_of(old, new)), until_s)
            except Rejected as rejected:
                if rejected.code not in (CONFLICT, NOT_FOUND) or time.monotonic() > until_s:
                    raise
                existing = self.existing(consumer, until_s)
            else:
                return

    def _delete(self, existing: ConsumerObjects, until_s: float) -> None:
        """First the Deployment, then the claim, which the cluster keeps until no pod uses it."""
        deletes_claim = self._settings.kubernetes.claims == "delete" and existing.is_there
        for item in (existing.deployment, existing.claim if deletes_claim else None):
            if item is not None:
                self._delete_item(item, until_s)

    def _delete_item(self, item: Deployment | PersistentVolumeClaim, until_s: float) -> None:
        try:
            retrying(lambda: self._api.delete(item), until_s)
        except Rejected as rejected:
            if rejected.code not in (CONFLICT, NOT_FOUND):  # gone; a conflict means that another has its name by now
                raise


def _in_place_of(old: Deployment, new: Deployment) -> Deployment:
    """Keeps labels and annotations that others wrote. The version makes the server reject it if `old` is outdated."""
    was, meta = metadata_of(old), metadata_of(new)
    meta.labels = {**(was.labels or {}), **(meta.labels or {})}
    meta.annotations = {**(was.annotations or {}), **(meta.annotations or {})}
    meta.resourceVersion, meta.uid = was.resourceVersion, was.uid
    meta.finalizers, meta.ownerReferences = was.finalizers, was.ownerReferences
    return new
