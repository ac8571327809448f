"""The page in a real browser, while controllers and brokers come and go."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.conftest import Eventually
from tests.page.conftest import watched
from tests.support.live_groups import LiveGroup
from tests.support.pictures import config, drawn, publish, settings_in
from tests.support.running_page import running_page

from restow.kafka.admin import Admin
from restow.kafka.embedded.broker import EmbeddedKafka
from restow.kafka.topics import ensure_topics
from restow.picture.parts import whole
from restow.settings import Kafka

pytestmark = pytest.mark.kafka


@pytest.fixture
def group(kafka: Kafka, admin: Admin, prefix: str, tmp_path: Path, eventually: Eventually) -> Iterator[LiveGroup]:
    group = LiveGroup(kafka, admin, prefix, tmp_path, eventually)
    yield group
    group.end()


def test_it_shows_a_live_group_pauses_it_and_follows_the_next_controller(
    group: LiveGroup, browser: Browser, eventually: Eventually
) -> None:
    orders = group.topic("orders", 2)
    group.produce(orders)
    group.measure(dict.fromkeys(orders, 0.1))
    first = group.start_controller()
    with running_page(group.config) as page, watched(browser, page.address) as window:
        group.settle(orders, consumers=1)
        window.until(lambda: window.text("#link") == "live")
        eventually(lambda: page.get("/api/partition/" + orders[0].topic + "/0")["status"]["consumer"] == 1)
        epoch = page.get("/api/picture")["picture"]["overview"]["epoch"]
        assert page.act("pause", {"reason": "an upgrade"})[1]["taken"] is True
        window.until(lambda: "an upgrade" in window.text("#banners"))
        first.kill()
        first.wait()
        group.start_controller()
        eventually(lambda: page.get("/api/picture")["picture"]["overview"]["epoch"] > epoch)
        window.until(lambda: window.text("#link") == "live" and "an upgrade" in window.text("#banners"))
        assert page.act("resume", {})[1]["taken"] is True
        window.until(lambda: "an upgrade" not in window.text("#banners"))


def test_it_shows_a_broker_that_is_away_as_an_outage_and_goes_on_when_it_is_back(
    tmp_path: Path, browser: Browser, prefix: str
) -> None:
    with EmbeddedKafka() as broker:
        file = config(tmp_path, Kafka(broker.bootstrap), prefix)
        settings = settings_in(file)
        with Admin(settings.kafka) as admin:
            ensure_topics(admin, settings.topics)
        publish(settings, whole(drawn(first_on=1), 1))
        with running_page(file) as page, watched(browser, page.address) as window:
            window.until(lambda: window.text("#link") == "live")
            broker.kill_node(1)
            window.until(lambda: "answer" in window.text("#banners"))
            assert window.text("#link") == "outage"
            assert page.ask("/healthz")[0] == 200
            broker.start_node(1)
            publish(settings, whole(drawn(first_on=2), 2))
            window.until(lambda: window.text("#link") == "live" and window.text("#banners") == "")
            assert page.get("/api/picture")["picture"]["topics"]["a"]["0"]["consumer"] == 2
