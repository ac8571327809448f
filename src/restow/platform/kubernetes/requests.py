"""Makes one wish come true, given what there is of its consumer: the requests that create, restart and delete one.

`KubernetesPlatform` calls it from several threads, one for each consumer. Whatever it doesn't do is raised, as
PlatformRefusal or as the Trouble that the API server made, and is worth another try later.
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
from restow.platform.kubernetes.api import Answered, Api, metadata_of
from restow.platform.kubernetes.change_tracker import Creation
from restow.platform.kubernetes.inventory import Looked, label_of, look
from restow.platform.kubernetes.names import CREATION, consumer_name
from restow.platform.kubernetes.retry import CONFLICT, NOT_FOUND, patiently
from restow.protocol.messages import ConsumerSettings
from restow.settings import Settings


class Wishes:
    def __init__(self, settings: Settings, api: Api) -> None:
        self._settings, self._api, self._group = settings, api, settings.group.name

    def take(self, wish: PlatformRequest, looked: Looked, until_s: float) -> Creation | None:
        """The new one, if one was created."""
        match wish:
            case CreateConsumer(consumer, settings):
                return self._create(consumer, settings, looked, until_s)
            case RestartConsumer(consumer, settings):
                self._restart(consumer, settings, looked, until_s)
            case DeleteConsumer():
                self._delete(looked, until_s)
            case _:
                assert_never(wish)
        return None

    def look(self, consumer: ConsumerId, until_s: float) -> Looked:
        return patiently(lambda: look(self._api, self._group, (consumer,)), until_s)[consumer]

    def _create(
        self, consumer: ConsumerId, settings: ConsumerSettings, looked: Looked, until_s: float
    ) -> Creation | None:
        if looked.deployment is not None:
            return None
        if looked.leaving:
            raise PlatformRefusal(f"consumer {consumer} is still leaving: {', '.join(looked.leaving)}")
        creation, restarted = uuid.uuid4().hex, uuid.uuid4().hex
        deployment = objects.deployment(self._settings, consumer, settings, creation, restarted)
        if looked.claim is None:
            self._create_claim(consumer, until_s)
        try:
            patiently(lambda: self._api.create(deployment), until_s)
        except Answered as answer:
            if answer.code != CONFLICT:
                raise
            return self._settle(consumer, creation, until_s)
        return consumer, creation

    def _create_claim(self, consumer: ConsumerId, until_s: float) -> None:
        """One that is there though it hasn't our labels is used too: somebody made it for this consumer."""
        claim = objects.claim(self._settings, consumer)
        try:
            patiently(lambda: self._api.create(claim), until_s)
        except Answered as answer:
            if answer.code != CONFLICT:
                raise

    def _settle(self, consumer: ConsumerId, creation: str, until_s: float) -> Creation | None:
        """There is a Deployment of that name: ours, whose acceptance we didn't hear of, another's, or a stranger's."""
        there = self.look(consumer, until_s).deployment
        if there is None:
            name = consumer_name(self._group, consumer)
            raise PlatformRefusal(f"there is a Deployment {name} that is none of group {self._group}; delete it")
        return (consumer, creation) if label_of(there, CREATION) == creation else None

    def _restart(self, consumer: ConsumerId, settings: ConsumerSettings, looked: Looked, until_s: float) -> None:
        restarted = uuid.uuid4().hex
        while True:
            there = looked.deployment
            if there is None:
                why = f"it is leaving: {', '.join(looked.leaving)}" if looked.leaving else "it is not there; create it"
                raise PlatformRefusal(f"consumer {consumer} can't be restarted: {why}")
            creation = label_of(there, CREATION)
            new = objects.deployment(self._settings, consumer, settings, creation, restarted)
            replacement = _in_place_of(there, new)
            try:
                patiently(partial(self._api.replace, replacement), until_s)
            except Answered as answer:
                if answer.code not in (CONFLICT, NOT_FOUND) or time.monotonic() > until_s:
                    raise
                looked = self.look(consumer, until_s)
            else:
                return

    def _delete(self, looked: Looked, until_s: float) -> None:
        """The claim after the Deployment: while a pod uses it, the cluster itself keeps it."""
        deletes_claim = self._settings.kubernetes.claims == "delete" and looked.is_there
        for item in (looked.deployment, looked.claim if deletes_claim else None):
            if item is not None:
                self._delete_item(item, until_s)

    def _delete_item(self, item: Deployment | PersistentVolumeClaim, until_s: float) -> None:
        try:
            patiently(lambda: self._api.delete(item), until_s)
        except Answered as answer:
            if answer.code not in (CONFLICT, NOT_FOUND):  # it is gone, and another may have its name
                raise


def _in_place_of(old: Deployment, new: Deployment) -> Deployment:
    """What others wrote beside our labels and annotations stays; one that was changed since it was read is refused."""
    was, meta = metadata_of(old), metadata_of(new)
    meta.labels = {**(was.labels or {}), **(meta.labels or {})}
    meta.annotations = {**(was.annotations or {}), **(meta.annotations or {})}
    meta.resourceVersion, meta.uid = was.resourceVersion, was.uid
    meta.finalizers, meta.ownerReferences = was.finalizers, was.ownerReferences
    return new
