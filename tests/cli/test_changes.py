"""The commands that change a group, against a real broker: what they write, and how they tell what became of it.

`tests/live/test_commands.py` has them with a real controller; here its pictures are written by the test.
"""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.picture_driver import pair
from tests.support.pictures import config, publish, settings_in

from restow.cli import main
from restow.clock import utc_now, utc_text
from restow.kafka.admin import Admin
from restow.kafka.channels.services import read_services
from restow.kafka.topics import ensure_topics
from restow.model import ConsumerId, TopicPartition
from restow.picture.parts import whole
from restow.picture.picture import ServiceAnswer
from restow.protocol.messages.desired import ConsumerRestart, GroupPause, PartitionPin, RecommendOnly
from restow.protocol.messages.service import ServiceUpdate
from restow.protocol.messages.unions import OnService
from restow.protocol.topic_service import TopicService
from restow.settings import Kafka


class Group:
    """A group whose controller is the test."""

    def __init__(self, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.file, self.settings, self._capsys = file, settings_in(file), capsys
        self.pictures, self.records = 0, 0

    def draws(
        self, *, taken: bool = True, words: str = "taken", seconds_ago: float = 0.0, answers: bool = True
    ) -> None:
        """A picture that answers the next record in these words."""
        self.pictures += 1
        picture = pair().picture()
        time = utc_text(datetime.now(UTC) - timedelta(seconds=seconds_ago))
        answer = (ServiceAnswer(self.records, taken, words),) if answers else ()
        overview = replace(picture.overview, time=time, answers=answer, group=self.settings.group.name)
        publish(self.settings, whole(replace(picture, overview=overview), self.pictures))

    def runs(self, *arguments: str, code: int = 0) -> str:
        """What the command prints, on either side."""
        assert main([*arguments, "--config", str(self.file)]) == code
        output = self._capsys.readouterr()
        if code in (0, 1, 3) and arguments[1:2] != ("list",):
            self.records += 1
        return f"{output.out}{output.err}"

    def has(self, key: str) -> OnService:
        return read_services(self.settings)[key]

    def definition(self, topic: str) -> TopicService | None:
        found = self.has(topic)
        assert isinstance(found, ServiceUpdate)
        return found.service


@pytest.fixture
def group(tmp_path: Path, kafka: Kafka, admin: Admin, prefix: str, capsys: pytest.CaptureFixture[str]) -> Group:
    group = Group(config(tmp_path, kafka, prefix), capsys)
    group.file.write_text(
        f"{group.file.read_text()}\n[controller]\nleast_consumers = 1\nmost_consumers = 9\n"
        '[consume."^orders.*"]\ntable = "lake/orders"\n'
        '[consume.clicks]\ntable = "lake/clicks"\ntransform = "shop:clicks"\n'
    )
    group.settings = settings_in(group.file)
    ensure_topics(admin, group.settings.topics)
    return group


def test_before_the_first_controller_it_makes_the_topics_and_says_when_it_counts(
    tmp_path: Path, kafka: Kafka, prefix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    group = Group(config(tmp_path, kafka, prefix), capsys)
    assert json.loads(group.runs("topics", "list", "--json"))["topics"] == {}
    assert json.loads(group.runs("consumers", "list", "--json"))["consumers"] == {}
    said = group.runs("recommend", "on", "--reason", "first week")
    assert said == (
        f"group {prefix}: only recommend decisions: recorded; "
        "no controller has run yet, and it takes effect when one does\n"
    )
    written = group.has(":recommend")
    assert isinstance(written, RecommendOnly)
    assert (written.on, written.reason) == (True, "first week")
    assert "@" in written.by
    assert written.at is not None
    assert written.at <= utc_now()


def test_it_says_whether_the_controller_took_it_refused_it_or_is_away(group: Group) -> None:
    group.draws()
    assert group.runs("pause", "--for", "2h").endswith(": taken by controller host-7\n")
    pause = group.has(":pause")
    assert isinstance(pause, GroupPause)
    assert pause.until is not None
    assert timedelta(minutes=119) < datetime.fromisoformat(pause.until) - datetime.now(UTC) <= timedelta(hours=2)
    group.draws(taken=False, words="a-0 would overload consumer 2")
    said = json.loads(group.runs("move", "a-0", "2", "--json", code=1))
    assert (said["group"], said["outcome"]) == (group.settings.group.name, "refused")
    assert (said["words"], said["offset"]) == ("refused by controller host-7: a-0 would overload consumer 2", 1)
    withdrawn = group.has(":pin:a-0")
    assert isinstance(withdrawn, PartitionPin)
    assert withdrawn.consumer is None, "no later controller carries it out"
    group.records += 1
    group.draws(seconds_ago=90, answers=False)
    assert "recorded; no controller runs (the last picture is 9" in group.runs("resume")
    assert group.has(":pause") == replace(pause, paused=False, until=None, at=group.has(":pause").at)
    group.draws(answers=False)
    assert "has not answered within 5 s" in group.runs("recommend", "off", code=3)


def test_a_pause_ends_at_a_time_of_day_or_not_by_itself_and_never_in_the_past(group: Group) -> None:
    group.runs("pause", "--until", "06:00")
    pause = group.has(":pause")
    assert isinstance(pause, GroupPause)
    assert str(pause.until).endswith("T06:00:00.000Z")
    assert str(pause.until) > utc_now()
    assert "pause until it is resumed" in group.runs("pause")
    assert "which has passed" in group.runs("pause", "--until", "2020-01-01T06:00", code=2)


def test_a_restart_names_the_present_process_and_a_move_is_a_pin(group: Group) -> None:
    group.draws()
    picture = pair().picture()
    group.runs("restart", "2")
    restart = group.has(":restart:2")
    assert isinstance(restart, ConsumerRestart)
    assert restart.up_to == picture.consumers[ConsumerId(2)].incarnation
    assert "has no consumer 7; it has 1, 2" in group.runs("restart", "7", code=2)
    group.draws()
    assert "move a-0 to consumer 2, pinned until " in group.runs("move", "a-0", "2")
    pin = group.has(":pin:a-0")
    assert isinstance(pin, PartitionPin)
    assert (pin.partition, pin.consumer) == (TopicPartition("a", 0), 2)
    group.draws(taken=False, words="refused: there is no consumer 1")
    group.runs("move", "a-0", "1", code=1)
    assert group.has(":pin:a-0") == pin, "the pin before stays"
    group.records += 1
    assert "a has no partition 9; group" in group.runs("move", "a-9", "2", code=2)
    assert "does not consume zebra; it consumes a" in group.runs("move", "zebra-0", "2", code=2)
    assert "name the consumer's number" in group.runs("move", "a-0", code=2)
    group.draws()
    group.runs("move", "a-0", "--unpin")
    unpinned = group.has(":pin:a-0")
    assert isinstance(unpinned, PartitionPin)
    assert unpinned.consumer is None


def test_settings_of_consumers_are_merged_checked_and_listed(group: Group) -> None:
    group.draws()
    assert "consumers capacity=2.4 MB/s, most=4: taken" in group.runs("consumers", "set", "capacity=2.4MB", "most=4")
    group.draws()
    group.runs("consumers", "set", "memory_mb=2048", "most=default")
    update = group.has(":consumers")
    assert isinstance(update, ServiceUpdate)
    assert update.consumers is not None
    assert (update.consumers.capacity_bytes_per_s, update.consumers.memory_mb) == (2.4e6, 2048)
    assert update.consumers.most_consumers is None
    assert "least=12 is above most=9" in group.runs("consumers", "set", "least=12", code=2)
    listed = json.loads(group.runs("consumers", "list", "--json"))
    assert listed["settings"]["capacity"] == {"value": 2.4e6, "from": "service topic"}
    assert listed["settings"]["most"] == {"value": 9, "from": "restow.toml"}
    assert listed["consumers"]["1"]["state"] == "ready"
    assert "2.4 MB/s" in group.runs("consumers", "list")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("capacity=fast", "like 5MB"),
        ("most=-1", "a whole number"),
        ("speed=1", "it must be one of capacity=…"),
        ("cores", "it must be one of capacity=…"),
    ],
)
def test_a_wrong_setting_is_refused_with_what_would_be_right(
    wrong: str, right: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["consumers", "set", wrong])
    assert ended.value.code == 2
    assert right in capsys.readouterr().err


def test_topics_are_added_changed_removed_reset_and_listed(group: Group) -> None:
    group.draws()
    idle = json.loads(group.runs("topics", "list", "--json"))["topics"]["^orders.*"]
    assert (idle["from"], idle["partitions"]) == ("restow.toml, a pattern without topics", 0)
    assert idle["definition"]["table"] == "lake/orders"
    group.runs("topics", "add", "views", "--table", "lake/views", "--start", "latest", "--no-lineage")
    views = TopicService("lake/views", start="latest", lineage=False)
    assert group.definition("views") == views
    assert "consumes clicks already (restow.toml)" in group.runs("topics", "add", "clicks", "--table", "x", code=2)
    group.draws()
    group.runs("topics", "set", "clicks", "--transform", "shop:clicks_v2", "--cost", "1.5")
    assert group.definition("clicks") == TopicService("lake/clicks", "shop:clicks_v2", cost=1.5)
    group.draws()
    assert "remove orders-eu; lake/orders and the offsets in it stay" in group.runs("topics", "remove", "orders-eu")
    assert group.definition("orders-eu") is None
    assert "does not consume zebra; it consumes clicks, views" in group.runs("topics", "remove", "zebra", code=2)
    listed: dict[str, Any] = json.loads(group.runs("topics", "list", "--json"))["topics"]
    assert listed["clicks"]["definition"]["transform"] == "shop:clicks_v2"
    assert listed["orders-eu"]["definition"] is None
    assert "^orders.*" not in listed, "a topic matches it"
    assert listed["a"]["partitions"] == 4
    assert listed["a"]["bytes_per_s"] == 160.0
    group.draws()
    group.runs("topics", "reset", "clicks")
    found = group.has("clicks")
    assert isinstance(found, ServiceUpdate)
    assert found.action == "reset"
    assert json.loads(group.runs("topics", "list", "--json"))["topics"]["clicks"]["from"] == "restow.toml"
    assert "nothing to change" in group.runs("topics", "set", "clicks", code=2)
    assert "transform is 'x'; it must be module:function" in group.runs(
        "topics", "set", "clicks", "--transform", "x", code=2
    )
