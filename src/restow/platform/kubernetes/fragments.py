"""`[kubernetes.pod]` merged into the pod template that restow makes, and told where it is not one. Pure.

Tables are merged key by key. In lists of things with a name, one with a name that ours has is merged with it if it is a
container, and takes its place otherwise: two halves of a volume or a variable make none. Any other list takes the place
of ours.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from lightkube.models.core_v1 import PodTemplateSpec

from restow.errors import InvalidInput
from restow.platform.kubernetes.names import CONSUMER, CREATION, GROUP, NAME

KEYS: Final = {  # by which the things in a list are told apart
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
"""How a probe looks. There is one in each."""
OURS: Final = (GROUP, CONSUMER, NAME, CREATION)
"""Labels by which consumers are found."""


def merged(template: PodTemplateSpec, fragment: Mapping[str, Any]) -> PodTemplateSpec:
    """The fragment counts where both say something."""
    _leaves_our_labels(fragment)
    whole = _merged(template.to_dict(), fragment)
    try:
        made = PodTemplateSpec.from_dict(whole)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"[kubernetes.pod] is no pod template: {error}") from None
    assert isinstance(made, PodTemplateSpec)
    if unknown := _unknown(whole, made.to_dict()):
        raise InvalidInput(f"[kubernetes.pod] has {unknown}, which is no field of a pod template")
    return made


def _leaves_our_labels(fragment: Mapping[str, Any]) -> None:
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
        return _merged_things(ours, theirs, name)
    return theirs


def _merged_things(ours: Sequence[Any], theirs: Sequence[Any], kind: str) -> list[Any]:
    key = KEYS[kind]
    things = {thing[key]: thing for thing in ours}
    added = []
    for thing in theirs:
        name = thing.get(key) if isinstance(thing, Mapping) else None
        if name in things:
            things[name] = _merged(things[name], thing) if kind in MERGED else thing
        else:
            added.append(thing)
    return [*things.values(), *added]


def _unknown(given: Any, understood: Any, place: str = "") -> str | None:
    """The first field that got lost on the way through the types."""
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
