"""The page's real server and front end without Kafka: it shows pictures that a test makes, of any size.

What comes from Kafka otherwise, the newest picture, the last day and pictures of the past, a test hands over;
everything else is the product: routes, guard, streams, history and files.
"""

import math
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any
from unittest.mock import patch

from restow.clock import as_iso
from restow.controller.transitions import Phase, Stage
from restow.health import Health
from restow.metrics.board import Board
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.page.app import Page
from restow.page.following import DayRead, Empty, Following, Heard, Remembered, Seen, Unreachable
from restow.page.past import Past
from restow.page.samples import Sampler
from restow.page.server import address_of, bound, serve
from restow.page.updates import Updates
from restow.picture.parts import plain_picture
from restow.picture.picture import ConsumerStatus, Decision, Lag, Limits, Overview, PartitionStatus, Picture
from restow.protocol.json_text import as_json
from restow.settings import Group, Kafka, Settings

CAPACITY = 2_000_000.0
LIMITS = Limits(CAPACITY, 0.85, 0.95, 0.85, 0.7, 1, None)
TOKEN = "a-token-that-only-tests-have"
TOPICS = ("clicks", "orders", "payments", "sessions", "shipments", "stock")


def group_of(consumers: int, partitions: int, load: float = 0.72, seed: int = 7, at_s: float | None = None) -> Picture:
    """A group in which all is well: uneven partitions, spread evenly. `load` is a share of the capacity."""
    chance = random.Random(seed)
    topics = TOPICS[: max(2, min(len(TOPICS), partitions // 4))]
    names = [TopicPartition(topics[n % len(topics)], n // len(topics)) for n in range(partitions)]
    weights = {name: chance.lognormvariate(0, 0.8) for name in names}
    scale = load * consumers * CAPACITY / sum(weights.values())
    speeds = {name: round(weight * scale, 1) for name, weight in weights.items()}
    now_s = time.time() if at_s is None else at_s
    places = {
        name: PartitionStatus(
            holder, as_iso(now_s - 4000), speeds[name], Lag(chance.randrange(400), round(chance.random() * 4, 1))
        )
        for name, holder in spread(speeds, consumers).items()
    }
    return group_at(places, consumers, now_s)


def spread(speeds: Mapping[TopicPartition, float], consumers: int) -> dict[TopicPartition, ConsumerId]:
    """The fastest partition first, each to the consumer with the least load."""
    loads = dict.fromkeys(range(1, consumers + 1), 0.0)
    holders = {}
    for name in sorted(speeds, key=lambda name: (-speeds[name], name)):
        holders[name] = ConsumerId(min(loads, key=lambda consumer: (loads[consumer], consumer)))
        loads[holders[name]] += speeds[name]
    return holders


def group_at(places: Mapping[TopicPartition, PartitionStatus], consumers: int, at_s: float, **overview: Any) -> Picture:
    """The picture of these partitions."""
    statuses = {ConsumerId(n): _consumer(n, places, at_s) for n in range(1, consumers + 1)}
    about: dict[str, Any] = {
        "group": "shop-lake",
        "controller": "lake-1:4711",
        "epoch": 42,
        "time": as_iso(at_s),
        "stage": Stage.SENTINEL,
        "since": as_iso(at_s - 260),
        "limits": LIMITS,
        "speeds_age_s": 1.2,
        "decisions": decisions(at_s) if consumers > 2 else (),
    }
    return Picture(Overview(**{**about, **overview}), SortedMapping(statuses), SortedMapping(places))


def _consumer(number: int, places: Mapping[TopicPartition, PartitionStatus], at_s: float) -> ConsumerStatus:
    held = [place for place in places.values() if place.consumer == number]
    load = sum(place.bytes_per_s or 0.0 for place in held)
    lags = [place.lag for place in held if place.lag is not None]
    lag = Lag(sum(lag.records for lag in lags), max((lag.seconds or 0.0 for lag in lags), default=0.0))
    return ConsumerStatus(
        *(Phase.READY, as_iso(at_s - 5000), len(held), CAPACITY, round(load, 1), lag),
        *(load / 410, round(load, 1), False, 1.8, 3.1),
        settings="9f31c2d0",
        silent_s=0.6,
    )


def decisions(at_s: float) -> tuple[Decision, ...]:
    at_s -= at_s % 7200  # the same in all pictures of two hours
    grown = (
        "consumer 3 is opened for clicks-0 and clicks-1, 70.5 % of its capacity",
        "clicks-0 goes from consumer 1 to 3: consumer 1 was at 99.2 % of its capacity, above its trigger of 95 %",
        "clicks-1 goes from consumer 1 to 3: it was given up with clicks-0",
    )
    shrunk = ("consumer 4 is closed: that moves 0.121 of a consumer's capacity, and a consumer is worth 1",)
    return (
        Decision(
            as_iso(at_s - 260),
            "a consumer's load is above the trigger",
            "2 -> 3 consumers, 2 moves of 0.705 capacities",
            grown,
        ),
        Decision(
            as_iso(at_s - 5400),
            "the assignment is due for its periodic review",
            "4 -> 2 consumers, 3 moves of 0.318 capacities",
            shrunk,
        ),
    )


def moved(picture: Picture, partition: TopicPartition, consumer: int) -> Picture:
    """The same group a second later, with one partition at another consumer."""
    at_s = drawn_s(picture) + 1
    places = {**picture.partitions, partition: replace(picture.partitions[partition], consumer=ConsumerId(consumer))}
    return group_at(places, len(picture.consumers), at_s)


def faster(picture: Picture, factor: float) -> Picture:
    """The same group a second later: every partition is written at another speed, and none has moved."""
    places = {
        name: replace(place, bytes_per_s=round((place.bytes_per_s or 0.0) * factor, 1))
        for name, place in picture.partitions.items()
    }
    return group_at(places, len(picture.consumers), drawn_s(picture) + 1)


def with_overview(picture: Picture, **fields: Any) -> Picture:
    return replace(picture, overview=replace(picture.overview, **fields))


class _Silent(Following):
    """Reads no Kafka: the test hands pictures over."""

    def run(self) -> None:
        while not self._is_ending.wait(1.0):
            self.turned_s = time.monotonic()


class _Remembering(Past):
    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.pictures: Callable[[float], Picture | None] = lambda _: None

    def _read(self, time_s: float) -> bytes:
        picture = self.pictures(time_s)
        if picture is None:
            return as_json({"picture": None, "why": "the test has no picture of that time"})
        return as_json({"picture": plain_picture(picture), "age_s": 0.0})


class PageStage:
    """A page at `address`, and what it is to show."""

    def __init__(self, address: str) -> None:
        self.address = address
        settings = Settings(kafka=Kafka("127.0.0.1:1"), group=Group("shop-lake"))
        with patch("restow.page.app.Following", _Silent), patch("restow.page.app.Past", _Remembering):
            self.page = Page(settings, TOKEN, "127.0.0.1")
        self._updates = Updates()

    def shows(self, picture: Picture) -> None:
        """As the newest picture."""
        self._hears(Seen(self._updates.made(picture, time.monotonic()), Sampler().sampled(picture)))

    def remembers(self, pictures: Iterable[Picture]) -> None:
        """As the pictures of the last day, oldest first."""
        kept, sampler = list(pictures), Sampler()
        for picture in kept:
            self._hears(Remembered(sampler.sampled(picture)))
        self._hears(DayRead())
        past = self.page._past
        assert isinstance(past, _Remembering)
        past.pictures = lambda time_s: next((each for each in reversed(kept) if drawn_s(each) <= time_s), None)

    def is_empty(self) -> None:
        self._hears(Empty())

    def loses_kafka(self, words: str) -> None:
        self._hears(Unreachable(words))

    def _hears(self, heard: Heard) -> None:
        self.page.following._post(heard)


@contextmanager
def page_stage() -> Iterator[PageStage]:
    listening = bound("127.0.0.1", 0)
    stage, stop = PageStage(address_of(listening)), threading.Event()
    watch = Health(), Board("page", "shop-lake")
    thread = threading.Thread(target=lambda: serve(stage.page, listening, stop.wait, *watch))
    thread.start()
    try:
        while stage.page._loop is None:  # the event loop has not begun
            time.sleep(0.01)
        yield stage
    finally:
        stop.set()
        thread.join()


def drawn_s(picture: Picture) -> float:
    return datetime.fromisoformat(picture.overview.time).timestamp()


def day_of(most: int, partitions: int, until_s: float, every_s: float = 150.0) -> Iterator[Picture]:
    """A day with a quiet night and a busy noon: the load, and with it the number of consumers, follows the hour."""
    for step in range(round(86_400 / every_s), 0, -1):
        at_s = until_s - step * every_s
        tide = 0.5 - 0.5 * math.cos(2 * math.pi * (at_s - until_s + 50_000) / 86_400)
        load = most * (0.12 + 0.6 * tide)
        consumers = max(1, math.ceil(load / 0.8))
        yield group_of(consumers, partitions, load / consumers, at_s=at_s)
