"""`restow page` against a real broker, asked over HTTP."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.conftest import Eventually
from tests.support.pictures import config, drawn, publish, settings_in
from tests.support.running_page import running_page

from restow.clock import as_iso
from restow.kafka.admin import Admin
from restow.kafka.clients import make_producer
from restow.kafka.newest import records_at
from restow.kafka.topics import ensure_topics
from restow.model import SortedMapping, TopicPartition
from restow.page.times import utc_s
from restow.picture.parts import change, whole
from restow.picture.picture import ServiceAnswer
from restow.protocol.measurement import Measurement, PartitionSpeed, encode, headers_of
from restow.settings import Kafka, Settings


def test_it_shows_the_newest_picture_follows_changes_and_remembers(
    tmp_path: Path, kafka: Kafka, admin: Admin, prefix: str, eventually: Eventually
) -> None:
    file = config(tmp_path, kafka, prefix)
    settings = settings_in(file)
    ensure_topics(admin, settings.topics)
    past = drawn(seconds_ago=3600, first_on=1)
    publish(settings, whole(past, 1))
    base = drawn(first_on=1)
    publish(settings, whole(base, 2))
    measured_s = time.time() - 1800.0
    measure(settings, measured_s, 250.0)  # when no controller ran
    with running_page(file) as page:
        eventually(lambda: page.get("/api/picture")["picture"] is not None)
        shown = page.get("/api/picture")
        assert (shown["outage"], shown["picture"]["topics"]["a"]["0"]["consumer"]) == (False, 1)
        with page.events() as events:
            assert next(events)[0] == "picture"
            publish(settings, [change(base, drawn(first_on=2), 2, 1)])
            name, data = next(events)
            assert (name, data["picture"]["topics"]["a"]["0"]["consumer"]) == ("picture", 2)
        eventually(lambda: page.get("/api/history")["is_complete"])
        history = page.get("/api/history?points=300")
        _remembers(history)
        [place] = [place for place, load in enumerate(history["load_bytes_per_s"]) if load == 250.0]
        assert 0 <= measured_s - utc_s(history["times"][place]) <= 288
        assert history["consumers"][place] is None
        partition = page.get("/api/partition/a/0")
        assert partition["consumer"][-1] == 2
        assert (partition["bytes_per_s"][-1], partition["status"]["consumer"]) == (40.0, 2)
        assert partition["explanation"][0].startswith("a-0 is read by consumer 2")
        assert page.get("/api/consumer/1")["partitions"][-1] == 2
        assert page.ask("/api/partition/a/99")[0] == 404
        assert page.ask("/api/consumer/99")[0] == 404
        then = as_iso(utc_s(base.overview.time))  # records are stamped when they are written, not when they are drawn
        assert page.get(f"/api/at?time={then[:-5]}Z")["picture"] is None
        assert page.ask("/healthz")[0] == page.ask("/readyz")[0] == 200
        assert page.ask("/api/at?time=noon")[0] == page.ask("/api/history?points=0")[0] == 400


def measure(settings: Settings, at_s: float, bytes_per_s: float) -> None:
    """As the monitor did at that time."""
    speed = PartitionSpeed(bytes_per_s, bytes_per_s, 1.0, 7, None, False)
    measurement = Measurement(as_iso(at_s), 30.0, SortedMapping({TopicPartition("a", 0): speed}))
    headers: dict[str, str | bytes | None] = {**headers_of("monitor", settings.group.name)}
    producer = make_producer(settings.kafka, {"acks": "all"})
    producer.produce(
        settings.topics.monitor, encode(measurement), partition=0, headers=headers, timestamp=round(at_s * 1000)
    )
    assert producer.flush(30) == 0


def _remembers(history: Any) -> None:
    """The picture of an hour ago, and that of now."""
    known = [place for place, consumers in enumerate(history["consumers"]) if consumers is not None]
    assert len(known) >= 2
    assert history["lag_records"][known[0]] == history["lag_records"][known[-1]] == 7
    assert utc_s(history["times"][known[-1]]) - utc_s(history["times"][known[0]]) > 3000


def test_an_action_is_written_as_desired_state_and_answered_by_the_controller(
    tmp_path: Path, kafka: Kafka, admin: Admin, prefix: str, eventually: Eventually
) -> None:
    file = config(tmp_path, kafka, prefix)
    settings = settings_in(file)
    ensure_topics(admin, settings.topics)
    with running_page(file) as page, ThreadPoolExecutor() as pool:
        assert page.act("pause", {}, Authorization="Bearer wrong")[0] == 401
        assert page.act("pause", {}, Origin="http://evil.example")[0] == 403
        assert page.act("pause", {"for_s": -1})[0] == 400
        assert page.act("pause", {"reason": "x" * 20_000})[0] == 400
        assert page.act("destroy", {})[0] == 404
        assert page.ask("/api/actions/pause")[0] == 401
        status, answer = page.act("pause", {"for_s": 3600, "reason": "upgrade"})
        assert (status, answer["taken"]) == (200, None)
        assert "no controller runs" in answer["words"]
        publish(settings, whole(drawn(), 1))
        eventually(lambda: page.get("/api/picture")["picture"] is not None)
        asked = pool.submit(page.act, "recommend", {"on": True})
        refused = ServiceAnswer(1, False, "refused: not today")
        now = drawn()
        overview = replace(now.overview, service_offset=1, answers=(refused,))
        publish(settings, [change(now, replace(now, overview=overview), 1, 1)])
        assert asked.result() == (200, {"taken": False, "words": "refused: not today"})
    service = TopicPartition(settings.topics.service, 0)
    written = records_at(kafka, settings.group.name, {service: range(2)})[service]
    assert [record.key for record in written] == [b":pause", b":recommend"]
    pause, recommend = (json.loads(record.value or b"") for record in written)
    assert (pause["paused"], pause["reason"], pause["by"][:5], recommend["on"]) == (True, "upgrade", "page@", True)
    assert utc_s(pause["until"]) - utc_s(pause["at"]) == 3600


def test_an_old_picture_is_an_outage(tmp_path: Path, kafka: Kafka, admin: Admin, prefix: str) -> None:
    file = config(tmp_path, kafka, prefix)
    settings = settings_in(file)
    ensure_topics(admin, settings.topics)
    with running_page(file) as page, page.events() as events:
        name, data = next(events)
        while "has no picture yet" not in data["why"]:
            name, data = next(events)
        assert (name, data["picture"]) == ("picture", None)
        publish(settings, whole(drawn(seconds_ago=100), 1))
        name, data = next(events)
        assert (name, data["outage"]) == ("picture", True)
        name, data = next(events)
        assert name == "outage"
        assert data["age_s"] > 99
        assert "no controller" in data["words"]
        publish(settings, whole(drawn(), 2))
        name, data = next(events)
        assert (name, data["outage"]) == ("picture", False)
