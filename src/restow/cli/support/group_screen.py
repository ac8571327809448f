"""Draws a picture of the group on a terminal, for `restow status` and `restow top`: consumers as bars, flags, the last
decision and what is waited for.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from heapq import nsmallest
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Column
from rich.text import Text

from restow.cli.support.group_picture import age_s
from restow.cli.support.output import right, table
from restow.controller.transitions import Phase
from restow.model import TopicPartition
from restow.picture.explanation import decision_lines, holds
from restow.picture.picture import ConsumerStatus, Lag, Limits, Overview, PartitionStatus, Picture
from restow.picture.publication import OUTAGE_AFTER_S
from restow.text import counted, percent, sized, spanned

BAR: Final = 24
FULL, EMPTY = "█", "░"
MOST_REASONS: Final = 5
MOST_BEHIND: Final = 3
BEHIND_S: Final = 60.0
"""A partition that is further behind is named."""
ALL: Final = slice(None)
TABLE_LINES: Final = 5
"""Of the table's header, rules and caption."""
STYLES: Final = {Phase.READY: "green", Phase.LOST: "red", Phase.RESTARTED: "yellow", Phase.CRASHED: "red"}


def screen(picture: Picture, now: datetime | None = None, shown: slice = ALL) -> RenderableType:
    """The whole group; `shown` are the consumers that fit."""
    now = now or datetime.now(UTC)
    return Group(*_blocks(picture, now, shown))


def lines_beside_consumers(picture: Picture) -> int:
    """How many lines the screen has beside one for each consumer, if none is longer than the screen is wide."""
    overview = picture.overview
    decision = overview.decisions[0] if overview.decisions else None
    reasons = 0 if decision is None else 2 + min(MOST_REASONS, len(decision.reasons))
    waits = len(overview.waiting_for) + bool(overview.waiting_for)
    behind = len(_behind(picture))
    lines = len(list(holds(overview))) + len(overview.flags) + bool(overview.left_out)
    return TABLE_LINES + 3 + lines + behind + bool(behind) + waits + reasons


def _blocks(picture: Picture, now: datetime, shown: slice) -> Iterator[RenderableType]:
    overview = picture.overview
    yield _headline(picture)
    old_s = age_s(picture, now)
    if old_s > OUTAGE_AFTER_S:
        yield Text(
            f"OUTAGE: no picture for {spanned(old_s)}; what follows is as of {_clock(overview.time)}. "
            f"Does `restow controller` run?",
            style="bold red",
        )
    stage = f"controller {overview.controller}: {overview.stage} for {_since(overview.since, now.isoformat())}"
    speeds = "" if overview.speeds_age_s is None else f", speeds {spanned(overview.speeds_age_s)} old"
    yield Text(f"{stage}{speeds}, picture {spanned(old_s)} old", style="dim")
    for words in holds(overview):
        yield Text(f"! {words}; partitions without a consumer are recovered", style="bold cyan")
    for name, flag in overview.flags.items():
        yield Text(f"! {name} for {_since(flag.since, overview.time)}: {flag.words}", style="bold yellow")
    if overview.left_out:
        counts = [f"{topic} {each.rejected + each.skipped:,}" for topic, each in overview.left_out.items()]
        yield Text(f"bad records left out of tables since the controller began: {', '.join(counts)}", style="yellow")
    yield _consumers(picture, shown)
    unread = sum(status.consumer is None for status in picture.partitions.values())
    if unread:
        yield Text(f"{counted(unread, 'partition')} without a consumer", style="yellow")
    behind = _behind(picture)
    if behind:
        yield Text("furthest behind")
        yield from (Text(f"  {partition} {_lag_in_words(status)}") for partition, status in behind)
    if overview.waiting_for:
        yield Text("waiting for")
        yield from (Text(f"  {words}") for words in overview.waiting_for)
    yield from _decision(overview, now)


def _headline(picture: Picture) -> Text:
    consumers, limits = picture.consumers.values(), picture.overview.limits
    ready = sum(status.phase is Phase.READY for status in consumers)
    load = sum(status.load_bytes_per_s for status in consumers)
    capacity = sum(status.capacity_bytes_per_s for status in consumers)
    words = [
        f"group {picture.overview.group}",
        f"{ready} of {counted(len(picture.consumers), 'consumer')} ready",
        counted(len(picture.partitions), "partition"),
        f"load {sized(load)}/s of {sized(capacity)}/s" + (" (learned)" if limits.capacity_is_learned else ""),
        f"lag {_lag(_worst(picture))}",
    ]
    return Text("  ".join(words), style="bold")


def _consumers(picture: Picture, shown: slice) -> RenderableType:
    every = list(picture.consumers.items())
    some = every[shown]
    rows = table(
        right("consumer"),
        Column("state"),
        Column("load", no_wrap=True),
        right(""),
        right("partitions"),
        right("lag"),
        right("stored"),
        right("cycle"),
        right("restarts"),
        caption=f"{len(some)} of {counted(len(every), 'consumer')} shown" if len(some) < len(every) else None,
    )
    for number, status in some:
        rows.add_row(
            str(number),
            Text(_state(status), style=STYLES.get(status.phase, "")),
            _bar(status, picture.overview.limits),
            percent(status.load_bytes_per_s / status.capacity_bytes_per_s),
            str(status.partitions),
            _lag(status.lag) if status.partitions else "",
            "" if status.bytes_per_s is None else f"{sized(status.bytes_per_s)}/s",
            "" if status.cycle_s_mean is None else f"{status.cycle_s_mean:.2g} s",
            str(status.restarts or ""),
        )
    return rows


def _bar(status: ConsumerStatus, limits: Limits) -> Text:
    share = status.load_bytes_per_s / status.capacity_bytes_per_s
    filled = min(BAR, round(share * BAR))
    style = "red" if share > limits.trigger else "yellow" if share > limits.fill_to else "green"
    bar = Text(FULL * filled, style=style)
    return bar.append(EMPTY * (BAR - filled), style="dim")


def _decision(overview: Overview, now: datetime) -> Iterator[RenderableType]:
    if not overview.decisions:
        yield Text("no decision since this controller began", style="dim")
        return
    last = overview.decisions[0]
    yield Text(f"last decision, {_since(last.time, now.isoformat())} ago: {last.summary}")
    yield from (Text(line) for line in decision_lines(last, MOST_REASONS))


def _behind(picture: Picture) -> list[tuple[TopicPartition, PartitionStatus]]:
    """The partitions that are furthest behind, if that is far."""
    far = [
        (-status.lag.seconds, partition, status)
        for partition, status in picture.partitions.items()
        if status.lag is not None and status.lag.seconds is not None and status.lag.seconds >= BEHIND_S
    ]
    return [(partition, status) for _, partition, status in nsmallest(MOST_BEHIND, far, key=lambda each: each[:2])]


def _lag_in_words(status: PartitionStatus) -> str:
    source = ", by its timestamp" if status.lag is not None and status.lag.source == "record timestamp" else ""
    words = [
        f"{_lag(status.lag)}{source}",
        "no consumer" if status.consumer is None else f"consumer {status.consumer}",
        "does not shrink" if status.catch_up_s is None else f"caught up in {spanned(status.catch_up_s)}",
    ]
    if status.retention_margin_s is not None:
        words.append(f"kept for {spanned(status.retention_margin_s)} more")
    return ", ".join(words)


def _worst(picture: Picture) -> Lag | None:
    lags = [status.lag for status in picture.partitions.values() if status.lag is not None]
    if not lags:
        return None
    seconds = [lag.seconds for lag in lags if lag.seconds is not None]
    return Lag(sum(lag.records for lag in lags), max(seconds, default=None))


def _lag(lag: Lag | None) -> str:
    if lag is None:
        return "unknown"
    if not lag.records:
        return "0"
    seconds = "age unknown" if lag.seconds is None else spanned(lag.seconds)
    return f"{lag.records:,} ({seconds})"


def _clock(time: str) -> str:
    return f"{datetime.fromisoformat(time):%H:%M:%S} UTC"


def _since(time: str, now: str) -> str:
    return spanned((datetime.fromisoformat(now) - datetime.fromisoformat(time)).total_seconds())


def _state(status: ConsumerStatus) -> str:
    notes = [words for words, holds in (("spare", status.spare), ("old settings", status.outdated)) if holds]
    return f"{status.phase} ({', '.join(notes)})" if notes else str(status.phase)
