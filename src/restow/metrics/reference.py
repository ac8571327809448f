"""docs/metrics.md, made from the definitions. `make docs` (scripts/docs.py) writes it; a test fails if it is old."""

from collections.abc import Iterable
from typing import Final

from restow.metrics.families import CONSUMER, CONTROLLER, EVERY_PROCESS, MONITOR, PAGE, Family
from restow.metrics.series import GroupSize, most_series
from restow.protocol.pages import table

INTRODUCTION: Final = """\
# Metrics

*Written from the code by `make docs`; don't edit it.*

Every process serves `/metrics` for Prometheus, `/healthz` (200 while its loop turns) and `/readyz` (200 while it does
its work). Switch it off with `[metrics] enabled = false`.

**Local processes** serve on 127.0.0.1, each on a free port, and write it to a file in `restow-data/GROUP-metrics/`,
which goes when the process ends. Prometheus finds them with

    scrape_configs:
      - job_name: restow
        file_sd_configs:
          - files: [/var/lib/restow/lake/restow-data/lake-metrics/*.json]

Groups may share a directory, `[metrics] targets_directory`: Prometheus allows `*` only in the last part of the path.
The target labels are `instance` (GROUP-consumer-3, so that a restart continues the same series) and `role`.

**Pods** serve on their own address, port 9464 (`[metrics] pod_port`), named `metrics`. They have the annotations
`prometheus.io/scrape`, `prometheus.io/port` and `prometheus.io/path`, and the Service GROUP-metrics selects them. With
the Prometheus operator, `restow manifests --pod-monitor` prints a PodMonitor too.

[deploy/grafana/restow.json](../deploy/grafana/restow.json) is a dashboard for Grafana: import it, and choose
data source, namespace and group. [deploy/prometheus/rules.yml](../deploy/prometheus/rules.yml) has alerts, each with
what to do; name it in `rule_files`.

Every series has the label `group`; those of a consumer's process also `consumer`. A value that is not known is missing,
never 0. Values are those of the process's loop, at most a second old; those of the group's picture at most ten. Ages
are counted when they are read, so that they grow while a loop hangs. The `process_…` metrics (memory, CPU time, open
files) are those of the Python process, without Spark's JVM.

The number of series is bounded. A controller has at most {fixed}, and {consumer} more for each consumer, {topic} for
each topic, {partition} for each partition ({speed} with `[metrics] per_partition_speeds`) and one for each raised flag.
A consumer's own process has at most {process}, a monitor {monitor}, a page {page}. Each has the `process_…` metrics
beside them.
"""

SECTIONS: Final = (
    ("Every process", EVERY_PROCESS),
    ("Controller", CONTROLLER),
    ("Consumer", CONSUMER),
    ("Monitor", MONITOR),
    ("Page", PAGE),
)


def page() -> str:
    blocks = [INTRODUCTION.format(**_numbers())]
    for title, families in SECTIONS:
        blocks += [f"## {title}\n", table(("name", "kind", "labels", "meaning"), _rows(families))]
    return "\n".join(blocks)


def _numbers() -> dict[str, int]:
    none = most_series("controller", GroupSize())
    return {
        "fixed": none,
        "consumer": most_series("controller", GroupSize(consumers=1)) - none,
        "topic": most_series("controller", GroupSize(topics=1)) - none,
        "partition": most_series("controller", GroupSize(partitions=1)) - none,
        "speed": most_series("controller", GroupSize(partitions=1, has_speeds=True)) - none,
        "process": most_series("consumer"),
        "monitor": most_series("monitor"),
        "page": most_series("page"),
    }


def _rows(families: Iterable[Family]) -> Iterable[tuple[str, ...]]:
    for family in families:
        labels = ", ".join(f"`{label}`" for label in family.labels)
        buckets = f" Buckets: {', '.join(f'{bound:g}' for bound in family.buckets)}." if family.buckets else ""
        yield f"`{family.name}`", family.kind, labels, family.help + buckets
