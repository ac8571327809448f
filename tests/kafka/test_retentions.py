"""How long a topic keeps its records, from its configuration as brokers return it."""

import pytest

from restow.kafka.errors import NotAllowed
from restow.kafka.retentions import retention_of, retentions_of
from restow.model import Retention


@pytest.mark.parametrize(
    ("policy", "kept_ms", "kept_bytes", "retention"),
    [
        ("delete", "604800000", "-1", Retention(604800.0)),
        ("delete", "-1", "1000000", Retention(None, 1_000_000)),
        ("delete", "500", "1000000", Retention(0.5, 1_000_000)),
        ("delete", "-1", "-1", Retention()),
        ("compact", "604800000", "1000000", Retention()),
        ("compact,delete", "604800000", "-1", Retention(604800.0)),
    ],
)
def test_limits_count_if_the_policy_deletes(policy: str, kept_ms: str, kept_bytes: str, retention: Retention) -> None:
    config = {"cleanup.policy": policy, "retention.ms": kept_ms, "retention.bytes": kept_bytes}
    assert retention_of(config) == retention


def test_a_topic_that_may_not_be_described_costs_no_other_its_retention() -> None:
    refused = NotAllowed("the right DescribeConfigs on the topic a is missing")
    readable = {"cleanup.policy": "delete", "retention.ms": "1000", "retention.bytes": "-1"}
    assert retentions_of({"a": refused, "b": readable}) == ({"b": Retention(1.0)}, refused)
