"""Restarts pods whose settings changed: annotates the pod template with a digest of what a consumer reads at its start.

The controller restarts pods whose template differs, one after the other. The template only names a ConfigMap, so a
change inside it would go unnoticed without the annotation.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from restow.cli.support.modules_beside import modules_of
from restow.errors import InvalidInput
from restow.platform.kubernetes.names import CONFIG_DIGEST
from restow.settings import PassthroughTable, Settings


def with_config_digest(settings: Settings, config: Path) -> Settings:
    """The settings with the annotation added to `[kubernetes.pod]`."""
    pod = dict(settings.kubernetes.pod)
    metadata = pod.get("metadata", {})
    annotations = metadata.get("annotations", {}) if isinstance(metadata, Mapping) else None
    if not isinstance(annotations, Mapping):
        return settings  # not a pod template; merging it raises the error
    try:
        modules = modules_of(settings, config.absolute().parent).beside
    except InvalidInput:
        modules = {}  # the consumers that import it report the error
    digest = digest_of(settings, modules)
    pod["metadata"] = {**metadata, "annotations": {**annotations, CONFIG_DIGEST: digest}}
    return replace(settings, kubernetes=replace(settings.kubernetes, pod=PassthroughTable(pod)))


def digest_of(settings: Settings, modules: Mapping[str, str]) -> str:
    """Digest of the settings that consumers use. Those of monitor and controller don't count, nor does [consume], which
    the controller sends."""
    read = (
        *(settings.kafka, settings.topics, settings.group, settings.consumer),
        *(settings.spark, settings.table, settings.log),
    )
    text = repr((read, sorted(modules.items())))  # repr hides secrets
    return hashlib.sha256(text.encode()).hexdigest()[:12]
