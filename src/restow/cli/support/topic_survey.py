"""Shows the topics of a cluster, and asks which of them a new group should consume, for `restow init`."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from rich.table import Column

from restow.cli.support.output import note, progress, right, show, table
from restow.cli.support.questions import answer
from restow.errors import InvalidInput, RestowError
from restow.kafka.admin import Admin
from restow.kafka.survey import measured, sampled
from restow.settings import Kafka
from restow.starter.facts import TopicFacts, consumable
from restow.text import counted, sized

MOST_TOPICS: Final = 50
"""More are chosen by name: a file with hundreds of tables is no beginning."""
ALL: Final = "all"


def survey(kafka: Kafka, group: str, named: Sequence[str] | None, seconds: float) -> tuple[TopicFacts, ...]:
    """What is known of the topics to consume, by name. Raises RestowError; NoAnswer if no broker answers."""
    with Admin(kafka) as admin:
        cluster = admin.cluster()
        if f"{group}-controller" in cluster.leaders:
            note(f"{kafka.bootstrap} has topics of a group {group}; this would be the same group, and continue it")
        topics = _existing(named, cluster.leaders, kafka.bootstrap) if named else consumable(cluster.leaders)
        if not topics:
            raise RestowError(f"{kafka.bootstrap} has no topic to consume yet; create one, or use --offline")
        with progress(f"measuring {counted(len(topics), 'topic')}", max(1, round(seconds))) as advance:
            facts = measured(admin, cluster, topics, seconds, lambda wait_s: _sleep(wait_s, advance))
    chosen = facts if named else _chosen(facts)
    looked: list[TopicFacts] = []
    with progress("reading their newest records", len(chosen)) as advance:
        for topic in chosen:
            looked.append(sampled(kafka, group, topic))
            advance()
    _show(looked)
    return tuple(sorted(looked, key=lambda topic: topic.name))


def _existing(named: Sequence[str], known: Mapping[str, object], bootstrap: str) -> tuple[str, ...]:
    if wrong := _unknown(named, known):
        raise InvalidInput(f"--topics: there is no {wrong} on {bootstrap}, or the right Describe on it is missing")
    return tuple(named)


def _unknown(named: Sequence[str], known: Mapping[str, object]) -> str:
    return ", ".join(topic for topic in named if topic not in known)


def _chosen(facts: Sequence[TopicFacts]) -> Sequence[TopicFacts]:
    """Those that the person names; all without a person, unless they are too many."""
    known = {topic.name: topic for topic in facts}

    def wrong(text: str) -> str | None:
        if text == ALL:
            too_many = f"there are {len(facts)} topics, and a group begins with at most {MOST_TOPICS}; name some"
            return too_many if len(facts) > MOST_TOPICS else None
        unknown = _unknown(_split(text), known)
        return f"there is no {unknown} among them" if unknown else None

    fastest = sorted(facts, key=lambda topic: (-(topic.bytes_per_s or 0.0), -topic.records, topic.name))
    _show(fastest[:MOST_TOPICS], with_values=False)
    given = answer("Topics to consume, separated by commas", ALL, "--topics", wrong)
    return facts if given == ALL else [known[name] for name in dict.fromkeys(_split(given))]


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _show(facts: Sequence[TopicFacts], *, with_values: bool = True) -> None:
    shown = table(
        Column("topic"),
        right("partitions"),
        right("records"),
        right("size"),
        right("record"),
        right("written"),
        *([Column("values", no_wrap=True)] if with_values else []),
    )
    for topic in facts:
        shown.add_row(
            topic.name,
            f"{topic.partitions:,}",
            f"{topic.records:,}",
            _sized(topic.size_bytes),
            _sized(topic.record_bytes),
            "" if topic.bytes_per_s is None else f"{sized(topic.bytes_per_s)}/s",
            *([topic.shape.words] if with_values else []),
        )
    show(shown)


def _sized(size_bytes: float | None) -> str:
    return "" if size_bytes is None else sized(size_bytes)


def _sleep(seconds: float, advance: Callable[[], None]) -> None:
    """Sleeps in steps of a second, so that progress is seen."""
    until_s = time.monotonic() + seconds
    while (left_s := until_s - time.monotonic()) > 0:
        time.sleep(min(1.0, left_s))
        advance()
