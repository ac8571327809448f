"""A cache of cleanup policies, so that the sampler knows which topics are compacted with few requests.

A topic's policy is read when the topic is first seen, when it was recreated, and every few minutes. Until there is an
answer, the topic counts as not compacted.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from restow.errors import RestowError

KNOWN_FOR_S: Final = 300.0
RETRY_AFTER_S: Final = 30.0

AT_ONCE: Final = 50
"""Topics per sample, to keep samples short: an answer has the whole configuration, and 200 topics took 0.4 s."""

COMPACT: Final = "compact"

Ask = Callable[[Iterable[str]], Mapping[str, str | RestowError]]


@dataclass(frozen=True, slots=True)
class _Answer:
    topic_id: str | None
    policy: str | RestowError
    until_s: float


class Policies:
    def __init__(self, ask: Ask, now_s: Callable[[], float] = time.monotonic) -> None:
        self._ask, self._now_s = ask, now_s
        self._answers: dict[str, _Answer] = {}

    def compacted(self, topics: Iterable[str], topic_ids: Mapping[str, str]) -> frozenset[str]:
        """The topics whose cleanup.policy contains "compact"."""
        topics, now_s = sorted(topics), self._now_s()
        self._answers = {name: self._answers[name] for name in topics if name in self._answers}
        due = [name for name in topics if self._is_due(name, topic_ids.get(name), now_s)]
        asked = self._ask(due[:AT_ONCE]) if due else {}
        for name, policy in asked.items():
            for_s = RETRY_AFTER_S if isinstance(policy, RestowError) else KNOWN_FOR_S
            self._answers[name] = _Answer(topic_ids.get(name), policy, now_s + for_s)
        return frozenset(name for name, answer in self._answers.items() if _is_compacting(answer.policy))

    def refused(self) -> dict[str, RestowError]:
        """The errors of the topics whose policy could not be read."""
        return {
            name: answer.policy
            for name, answer in sorted(self._answers.items())
            if isinstance(answer.policy, RestowError)
        }

    def _is_due(self, name: str, topic_id: str | None, now_s: float) -> bool:
        answer = self._answers.get(name)
        return answer is None or answer.topic_id != topic_id or now_s >= answer.until_s


def _is_compacting(policy: str | RestowError) -> bool:
    return isinstance(policy, str) and COMPACT in policy.split(",")
