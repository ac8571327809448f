"""Merges `[kubernetes.pod]` into restow's pod template, and refuses what is no valid pod template. Pure.

Tables are merged key by key. In lists of named items, a container is merged with ours of the same name; any other item
(a volume, a variable) replaces ours, because half of one and half of another make no valid item. Other lists replace
ours.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from lightkube.models.core_v1 import PodTemplateSpec

from restow.errors import InvalidInput
from restow.platform.kubernetes.names import CONSUMER, CREATION, GROUP, NAME

KEYS: Final = {  # the key that identifies an item of each list
    "containers": "name",
    "env": "name",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ports": "containerPort",
    "resourceClaims": "name",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
MERGED: Final = ("containers", "initContainers")
HANDLERS: Final = ("exec", "grpc", "httpGet", "tcpSocket")
"""A probe has exactly one of these."""
OURS: Final = (GROUP, CONSUMER, NAME, CREATION)
"""Labels by which restow finds its consumers."""


def merged(template: PodTemplateSpec, fragment: Mapping[str, Any]) -> PodTemplateSpec:
    """Where both set a value, the fragment wins. Raises InvalidInput."""
    _check_labels(fragment)
    whole = _merged(template.to_dict(), fragment)
    try:
        made = PodTemplateSpec.from_dict(whole)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"[kubernetes.pod] is not a valid pod template: {error}") from None
    assert isinstance(made, PodTemplateSpec)
    if unknown := _unknown(whole, made.to_dict()):
        raise InvalidInput(f"[kubernetes.pod] has {unknown}, which is not a field of a pod template")
    return made


def _check_labels(fragment: Mapping[str, Any]) -> None:
    metadata = fragment.get("metadata", {})
    labels = metadata.get("labels", {}) if isinstance(metadata, Mapping) else {}
    for name in OURS:
        if name in labels:
            raise InvalidInput(f"[kubernetes.pod.metadata.labels] sets {name}, by which restow finds its consumers")


def _merged(ours: Any, theirs: Any, name: str = "") -> Any:
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        if any(handler in theirs for handler in HANDLERS):
            ours = {key: value for key, value in ours.items() if key not in HANDLERS}
        both = {key: _merged(ours[key], theirs[key], key) for key in theirs if key in ours}
        return {**ours, **theirs, **both}
    if isinstance(ours, list) and isinstance(theirs, list) and name in KEYS:
        return _merged_items(ours, theirs, name)
    return theirs


def _merged_items(ours: Sequence[Any], theirs: Sequence[Any], kind: str) -> list[Any]:
    key = KEYS[kind]
    items = {item[key]: item for item in ours}
    added = []
    for item in theirs:
        name = item.get(key) if isinstance(item, Mapping) else None
        if name in items:
            items[name] = _merged(items[name], item) if kind in MERGED else item
        else:
            added.append(item)
    return [*items.values(), *added]


def _unknown(given: Any, understood: Any, place: str = "") -> str | None:
    """The first field that lightkube's types don't have."""
    if isinstance(given, Mapping) and isinstance(understood, Mapping):
        for key, value in given.items():
            here = f"{place}.{key}" if place else key
            if key not in understood:
                return here
            if found := _unknown(value, understood[key], here):
                return found
    elif isinstance(given, list) and isinstance(understood, list):
        for index, (value, kept) in enumerate(zip(given, understood, strict=True)):
            if found := _unknown(value, kept, f"{place}[{index}]"):
                return found
    return None
