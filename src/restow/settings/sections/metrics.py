"""`[metrics]`: where metrics and probes are served."""

from dataclasses import dataclass
from typing import Annotated

from restow.settings.checks import Check


@dataclass(frozen=True, slots=True)
class Metrics:
    """`[metrics]`: what every process serves over HTTP: `/metrics` for Prometheus, `/healthz` and `/readyz` for probes.
    docs/metrics.md has every metric."""

    enabled: bool = True
    """Whether processes serve at all. Without it, the probes of pods read files instead."""

    host: Annotated[str, Check("an address or a host name of this machine", bool)] = "127.0.0.1"
    """The address on which local processes serve, each on a free port. The files in `targets_directory` have the ports.
    Metrics name topics, and anyone who reaches the address may read them."""

    targets_directory: str | None = None
    """The directory of the files by which Prometheus finds local processes (`file_sd_configs`). Without it,
    GROUP-metrics in the directory of [processes]."""

    pod_port: Annotated[int, Check("a port, 1 to 60000", lambda port: 1 <= port <= 60000)] = 9464
    """The port on which pods serve, at their own address. Pods on their node's network (`hostNetwork`) can't share a
    port: there the monitor has this one, the controller the next, the page the one after it, and consumer N the Nth
    after the page's."""

    per_partition_speeds: bool = False
    """Whether the controller's metrics have the write speed of every partition, and not only of every topic: one more
    series for each partition."""
