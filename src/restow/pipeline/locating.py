"""Finds the record on which a transform fails, by halving: at most one attempt for each halving, and one to confirm.

Attempts run on the offsets themselves, so that it works for every transform, whatever it computes its rows with. The
Spark pipeline tries with Spark jobs, the light one with calls.
"""

from collections.abc import Callable, Mapping

from restow.model import TopicPartition
from restow.pipeline.sinks import Span
from restow.text import listed

Spans = Mapping[TopicPartition, Span]
Fails = Callable[[Spans], bool | None]
"""Whether the transform fails on these offsets; None if there is no time left to try."""


def locate(spans: Spans, fails: Fails) -> dict[TopicPartition, Span]:
    """The smallest part of `spans` on which the transform was seen to fail: the first such record, if it fails on one
    alone. All of `spans` must have been seen to fail."""
    failed = suspect = {partition: span for partition, span in sorted(spans.items()) if span.next > span.first}
    while records_in(suspect) > 1:
        first, second = halves(suspect)
        fails_first = fails(first)
        if fails_first is None:
            return failed
        suspect = first if fails_first else second  # the second half was not tried: it is tried in parts
        failed = first if fails_first else failed
    return suspect if suspect is failed or fails(suspect) else failed


def named(spans: Spans) -> str:
    """orders-3 at offset 17; orders-3 from offset 10 to 19; orders-3 from offset 10 to 19 and orders-4 …."""
    return listed([_named(partition, span) for partition, span in spans.items()])


def _named(partition: TopicPartition, span: Span) -> str:
    last = span.next - 1
    return f"{partition} at offset {last}" if span.first == last else f"{partition} from offset {span.first} to {last}"


def records_in(spans: Spans) -> int:
    return sum(span.next - span.first for span in spans.values())


def halves(spans: Spans) -> tuple[dict[TopicPartition, Span], dict[TopicPartition, Span]]:
    """By offsets; partitions keep their order."""
    left = records_in(spans) // 2
    first: dict[TopicPartition, Span] = {}
    second: dict[TopicPartition, Span] = {}
    for partition, span in spans.items():
        cut = min(span.next, span.first + left)
        left -= cut - span.first
        if cut > span.first:
            first[partition] = Span(span.first, cut)
        if cut < span.next:
            second[partition] = Span(cut, span.next)
    return first, second
