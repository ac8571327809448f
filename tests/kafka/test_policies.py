"""Cleanup policies are read rarely, and again when they may have changed."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from restow.errors import RestowError
from restow.kafka.errors import NotAllowed
from restow.kafka.policies import AT_ONCE, KNOWN_FOR_S, RETRY_AFTER_S, Policies

REFUSED = NotAllowed("the right DescribeConfigs is missing")


@dataclass
class Brokers:
    """What they would answer, what they were asked, and the time."""

    policies: dict[str, str | RestowError]
    asked: list[list[str]] = field(default_factory=list)
    now_s: float = 0.0

    def ask(self, topics: Iterable[str]) -> dict[str, str | RestowError]:
        self.asked.append(list(topics))
        return {name: self.policies[name] for name in self.asked[-1] if name in self.policies}

    def remembered(self) -> Policies:
        return Policies(self.ask, lambda: self.now_s)


def test_compacted_topics_are_found_whether_they_also_delete_or_not() -> None:
    brokers = Brokers({"a": "delete", "b": "compact", "c": "compact,delete"})
    assert brokers.remembered().compacted("abc", {}) == {"b", "c"}


def test_a_topic_is_read_once_and_a_new_one_when_it_appears() -> None:
    brokers = Brokers({"a": "compact", "b": "compact"})
    policies = brokers.remembered()
    for _ in range(3):
        assert policies.compacted(["a"], {}) == {"a"}
    assert policies.compacted(["a", "b"], {}) == {"a", "b"}
    assert brokers.asked == [["a"], ["b"]]


def test_a_recreated_topic_is_read_again() -> None:
    brokers = Brokers({"a": "compact"})
    policies = brokers.remembered()
    policies.compacted(["a"], {"a": "first"})
    brokers.policies["a"] = "delete"
    assert policies.compacted(["a"], {"a": "first"}) == {"a"}
    assert policies.compacted(["a"], {"a": "second"}) == frozenset()


def test_a_change_is_seen_after_some_minutes() -> None:
    brokers = Brokers({"a": "delete"})
    policies = brokers.remembered()
    policies.compacted(["a"], {})
    brokers.policies["a"] = "compact"
    brokers.now_s = KNOWN_FOR_S - 1
    assert policies.compacted(["a"], {}) == frozenset()
    brokers.now_s = KNOWN_FOR_S
    assert policies.compacted(["a"], {}) == {"a"}


def test_a_refused_topic_is_reported_and_retried_soon() -> None:
    brokers = Brokers({"a": REFUSED, "b": "compact"})
    policies = brokers.remembered()
    assert policies.compacted("ab", {}) == {"b"}
    assert policies.refused() == {"a": REFUSED}
    brokers.now_s = RETRY_AFTER_S
    brokers.policies["a"] = "compact"
    assert policies.compacted("ab", {}) == {"a", "b"}
    assert policies.refused() == {}
    assert brokers.asked == [["a", "b"], ["a"]]


def test_a_topic_that_is_no_longer_measured_is_forgotten() -> None:
    brokers = Brokers({"a": REFUSED})
    policies = brokers.remembered()
    policies.compacted(["a"], {})
    assert policies.compacted([], {}) == frozenset()
    assert policies.refused() == {}


def test_many_topics_are_read_over_several_samples() -> None:
    names = [f"topic-{number:04d}" for number in range(AT_ONCE + 10)]
    brokers = Brokers(dict.fromkeys(names, "compact"))
    policies = brokers.remembered()
    assert policies.compacted(names, {}) == set(names[:AT_ONCE])
    assert policies.compacted(names, {}) == set(names)
    assert [len(asked) for asked in brokers.asked] == [AT_ONCE, 10]
