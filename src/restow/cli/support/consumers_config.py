"""What consumers in pods read when they start, as a note on their pods: where it has changed, they are restarted.

A pod whose template is another one is restarted by the controller, one after the other. The template names a ConfigMap
and doesn't show what is in it; so `restow controller` adds an annotation that does.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from restow.cli.support.modules_beside import modules_of
from restow.errors import InvalidInput
from restow.platform.kubernetes.names import CONFIG_DIGEST
from restow.settings import PassthroughTable, Settings


def noting_config(settings: Settings, config: Path) -> Settings:
    """The same, with the annotation among `[kubernetes.pod]`."""
    pod = dict(settings.kubernetes.pod)
    metadata = pod.get("metadata", {})
    annotations = metadata.get("annotations", {}) if isinstance(metadata, Mapping) else None
    if not isinstance(annotations, Mapping):
        return settings  # no pod template, as whoever merges it will say
    try:
        modules = modules_of(settings, config.absolute().parent).beside
    except InvalidInput:
        modules = {}  # one that can't be read is told by the consumers that need it
    digest = digest_of(settings, modules)
    pod["metadata"] = {**metadata, "annotations": {**annotations, CONFIG_DIGEST: digest}}
    return replace(settings, kubernetes=replace(settings.kubernetes, pod=PassthroughTable(pod)))


def digest_of(settings: Settings, modules: Mapping[str, str]) -> str:
    """Of what a consumer works by. What the controller and the monitor alone read restarts no consumer, and what
    becomes of a topic they are told."""
    read = (settings.kafka, settings.topics, settings.group, settings.consumer, settings.spark, settings.table)
    text = repr((read, sorted(modules.items())))  # where secrets don't show
    return hashlib.sha256(text.encode()).hexdigest()[:12]
