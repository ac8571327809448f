"""Which topics names and patterns mean: never those of Kafka or of a group of restow, unless they are named."""

import pytest

from restow.kafka.sampler import Interest
from restow.protocol.topic_names import NamesAndPatterns, topics_of_groups
from restow.settings import Group, Kafka, Settings, Topics


def topics_of(prefix: str) -> tuple[str, ...]:
    return Topics(prefix).names


LAKE, SEA = topics_of("lake"), topics_of("sea-2")


def test_the_topics_of_every_group_on_a_cluster_are_known() -> None:
    others = ("orders", "customer-service", "flight-controller", "controller", "-controller", "lake-orders")
    assert topics_of_groups([*others, *LAKE, *SEA]) == {*LAKE, *SEA}
    assert topics_of_groups(others) == set()


@pytest.mark.parametrize("missing", [name for name in LAKE if name != "lake-status"])
def test_a_prefix_without_all_of_a_group_s_topics_is_no_group_s(missing: str) -> None:
    assert topics_of_groups(name for name in LAKE if name != missing) == set()


def test_a_group_of_a_version_without_a_status_topic_is_known() -> None:
    older = [name for name in LAKE if name != "lake-status"]
    assert topics_of_groups(older) >= set(older)


def test_a_pattern_matches_neither_kafka_s_topics_nor_restow_s_and_a_name_means_any() -> None:
    wanted = NamesAndPatterns(["^.*", "lake-monitor", "__transaction_state"])
    assert wanted.entry_for("orders", is_restows=False) == "^.*"
    assert wanted.entry_for("__consumer_offsets", is_restows=False) is None
    assert wanted.entry_for("lake-controller", is_restows=True) is None
    for name in ("lake-monitor", "__transaction_state"):
        assert wanted.entry_for(name, is_restows=True) == name


@pytest.mark.parametrize("always", [True, False])
def test_the_monitor_measures_no_group_s_own_topics_by_a_pattern(always: bool) -> None:
    interest = Interest(["^.*"], (), LAKE) if always else Interest((), ["^.*"], LAKE)
    assert interest.chosen([*LAKE, *SEA, "customer-service", "orders"]) == ("customer-service", "orders")


def test_the_monitor_knows_its_group_s_topics_before_all_of_them_exist() -> None:
    assert Interest(["^lake-.*"], (), LAKE).chosen(["lake-monitor", "lake-orders"]) == ("lake-orders",)


def test_the_monitor_measures_a_group_s_own_topic_by_its_name() -> None:
    assert Interest(["lake-monitor"], (), LAKE).chosen(LAKE) == ("lake-monitor",)


def test_a_group_names_all_its_topics() -> None:
    assert Settings(Kafka("k:1"), Group("lake")).topics.names == (
        *("lake-monitor", "lake-controller"),
        *("lake-query", "lake-service", "lake-status"),
    )
