"""How a container serves metrics and probes: its port, its variables, its probes, the annotations of its pod. Pure.

Probes ask `/healthz` and `/readyz`. With `[metrics] enabled = false` no port is open, and probes read the files of
`restow.health` with a shell; a restow command would start Python every few seconds.
"""

import math
from collections.abc import Mapping
from typing import Final, NamedTuple

from lightkube.models.core_v1 import (
    ContainerPort,
    EnvVar,
    EnvVarSource,
    ExecAction,
    HTTPGetAction,
    ObjectFieldSelector,
    Probe,
)

from restow.platform.kubernetes import names
from restow.settings import Settings

LIVENESS_EVERY_S: Final = 20
READINESS_EVERY_S: Final = 5
PROBE_TIMEOUT_S: Final = 10
"""A probe may be slow on a busy node; with Kubernetes' default of 1 s healthy processes get killed."""
STARTED_AFTER_S: Final = 60
"""Liveness is not probed before: Python may take long to start on a busy node, and a restarted container still has the
`alive` file of the previous one."""
MOST_FAILURES: Final = 3
"""Failed probes in a row before a process is restarted, or no longer ready: a process that answers nothing for a minute
is as dead as one whose loop stands still, while a frozen node may come back."""
MONITOR, CONTROLLER, PAGE, FIRST_CONSUMER = 0, 1, 2, 3
"""The places of processes that share their node's network: each has a port of its own."""


class Serving(NamedTuple):
    """What a container and its pod need, to be scraped and probed."""

    ports: list[ContainerPort]
    variables: list[EnvVar]
    liveness: Probe
    readiness: Probe
    annotations: Mapping[str, str]


def serving(settings: Settings, place: int) -> Serving:
    """`place` is MONITOR, CONTROLLER, PAGE, or FIRST_CONSUMER and those after it."""
    if not settings.metrics.enabled:
        alive = ExecAction(["sh", "-c", is_recent("alive", settings.kubernetes.alive_within_s)])
        ready = ExecAction(["sh", "-c", f"test -e {names.SIGNS}/ready"])
        return Serving([], [], _liveness(Probe(exec=alive)), _readiness(Probe(exec=ready)), {})
    port = metrics_port(settings, place)
    return Serving(
        [ContainerPort(containerPort=port, name=names.METRICS, protocol="TCP")],
        [
            EnvVar(
                name=names.METRICS_HOST,
                valueFrom=EnvVarSource(fieldRef=ObjectFieldSelector(fieldPath="status.podIP")),
            ),
            EnvVar(name=names.METRICS_PORT, value=str(port)),
        ],
        _liveness(Probe(httpGet=HTTPGetAction(path="/healthz", port=names.METRICS))),
        _readiness(Probe(httpGet=HTTPGetAction(path="/readyz", port=names.METRICS))),
        {"prometheus.io/scrape": "true", "prometheus.io/port": str(port), "prometheus.io/path": "/metrics"},
    )


def metrics_port(settings: Settings, place: int) -> int:
    shares_network = bool(settings.kubernetes.pod.get("spec", {}).get("hostNetwork"))
    return settings.metrics.pod_port + (place if shares_network else 0)


def _liveness(probe: Probe) -> Probe:
    probe.initialDelaySeconds, probe.periodSeconds = STARTED_AFTER_S, LIVENESS_EVERY_S
    return _patient(probe)


def _readiness(probe: Probe) -> Probe:
    probe.initialDelaySeconds, probe.periodSeconds = 0, READINESS_EVERY_S
    return _patient(probe)


def _patient(probe: Probe) -> Probe:
    probe.timeoutSeconds, probe.failureThreshold = PROBE_TIMEOUT_S, MOST_FAILURES
    return probe


def is_recent(file: str, within_s: float) -> str:
    return f'test "$(( $(date +%s) - $(stat -c %Y {names.SIGNS}/{file}) ))" -lt {math.ceil(within_s)}'
