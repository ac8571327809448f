"""`restow status` and `restow top` against a real broker: the newest picture, from wherever Kafka can be reached."""

import json
import os
import pty
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.picture_driver import pair
from tests.support.pictures import config, drawn, publish, settings_in

from restow.cli import main
from restow.kafka.admin import Admin
from restow.kafka.channels.publisher import Publisher
from restow.kafka.channels.status import StatusReader
from restow.kafka.topics import ensure_topics
from restow.model import SortedMapping, TopicPartition
from restow.picture.parts import Assembler, change, whole
from restow.protocol.measurement import Measurement, PartitionSpeed, encode
from restow.protocol.measurement import headers_of as measurement_headers
from restow.settings import Kafka, Settings


def ask(capsys: pytest.CaptureFixture[str], file: Path) -> tuple[int, Any]:
    code = main(["status", "--json", "--config", str(file)])
    return code, json.loads(capsys.readouterr().out)


def test_it_shows_the_newest_picture_of_many_in_parts(
    tmp_path: Path, kafka: Kafka, admin: Admin, prefix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = config(tmp_path, kafka, prefix)
    settings = settings_in(file)
    ensure_topics(admin, settings.topics)
    for number in range(1, 4):
        publish(settings, whole(drawn(partitions=2000 + number), number, largest_bytes=2_000))
    code, shown = ask(capsys, file)
    assert (code, shown["outage"], len(shown["topics"]["a"])) == (0, False, 2003)
    base = drawn(partitions=2003)
    now = replace(base, partitions=SortedMapping(dict(list(base.partitions.items())[:-1])))
    publish(settings, [change(base, now, 3, 1)])
    assert len(ask(capsys, file)[1]["topics"]["a"]) == 2002
    assert main(["status", "--config", str(file)]) == 0
    assert capsys.readouterr().out.startswith("group shop  2 of 2 consumers ready  2,002 partitions")


def test_an_old_picture_is_an_outage_and_the_exit_code_says_so(
    tmp_path: Path, kafka: Kafka, admin: Admin, prefix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = config(tmp_path, kafka, prefix)
    settings = settings_in(file)
    ensure_topics(admin, settings.topics)
    publish(settings, whole(drawn(seconds_ago=3600), 1))
    code, shown = ask(capsys, file)
    assert (code, shown["outage"]) == (1, True)
    assert shown["age_s"] >= 3600
    assert main(["status", "--config", str(file)]) == 1
    assert "OUTAGE: no picture for 60 min" in capsys.readouterr().out


def test_without_a_topic_or_a_picture_it_says_what_is_missing(
    tmp_path: Path, kafka: Kafka, admin: Admin, prefix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = config(tmp_path, kafka, prefix)
    assert main(["status", "--config", str(file)]) != 0
    assert f"there is no topic {prefix}-status: no controller of group {prefix} has run" in capsys.readouterr().err
    ensure_topics(admin, settings_in(file).topics)
    assert main(["status", "--config", str(file)]) != 0
    assert f"{prefix}-status has no picture yet" in capsys.readouterr().err


def test_another_groups_picture_is_not_shown(tmp_path: Path, kafka: Kafka, admin: Admin, prefix: str) -> None:
    settings = settings_in(config(tmp_path, kafka, prefix))
    ensure_topics(admin, settings.topics)
    publish(settings, whole(drawn(partitions=3), 1))
    foreign = replace(settings, group=replace(settings.group, name="other"))
    publish(foreign, whole(drawn(partitions=9), 2))
    with StatusReader(settings, Assembler) as reader:
        picture = reader.newest()
    assert picture is not None
    assert len(picture.partitions) == 3


def test_the_past_can_be_asked_for(tmp_path: Path, kafka: Kafka, admin: Admin, prefix: str) -> None:
    """Explain walks back from decision to decision."""
    settings = settings_in(config(tmp_path, kafka, prefix))
    ensure_topics(admin, settings.topics)
    with StatusReader(settings, Assembler) as reader:
        assert reader.as_of(round(time.time() * 1000)) is None
        moments = []
        for number in range(1, 4):
            publish(settings, whole(drawn(partitions=number * 500), number, largest_bytes=2_000))
            moments.append(round(time.time() * 1000))
            wait_for_the_next_millisecond()
        found = [reader.as_of(moment) for moment in (moments[0] - 60_000, *moments)]
        assert [None if picture is None else len(picture.partitions) for picture in found] == [None, 500, 1000, 1500]


def test_explain_answers_from_the_status_topic(
    tmp_path: Path, kafka: Kafka, admin: Admin, prefix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = config(tmp_path, kafka, prefix)
    settings = settings_in(file)
    ensure_topics(admin, settings.topics)
    driver = pair()
    for number in range(1, 4):  # each picture has one decision, as if the list had room for one
        driver.ticks(100)
        driver.measures(a_0=40 + 10 * number, a_1=40, a_2=40, a_3=40)
        driver.settles()
        for consumer in set(driver.state.awaited()):
            driver.is_ready(consumer)
        driver.settles()
        publish(settings, whole(driver.picture(), number))
    assert driver.picture().overview.decisions
    assert main(["explain", "a-0", "--config", str(file)]) == 0
    assert "what would move it next:" in capsys.readouterr().out
    assert main(["explain", "--last", "--config", str(file)]) == 0
    assert driver.picture().overview.decisions[0].summary in capsys.readouterr().out
    assert main(["explain", "--at", datetime.now(UTC).strftime("%H:%M:%S"), "--config", str(file)]) == 0
    assert capsys.readouterr().out.startswith("group shop")
    assert main(["explain", "nothing-9", "--config", str(file)]) == 2
    assert "the group does not consume nothing-9; it consumes partitions of a" in capsys.readouterr().err
    assert main(["explain", "--config", str(file)]) == 2
    assert "name a partition like orders-7" in capsys.readouterr().err


def measure(settings: Settings, at: datetime, **speeds: float) -> None:
    found = {
        TopicPartition.parse(name.replace("_", "-")): PartitionSpeed(0.0, speed, 1.0, 0, None, False)
        for name, speed in speeds.items()
    }
    time = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    value = encode(Measurement(time, 30.0, SortedMapping(found)))
    Publisher(settings.kafka, settings.topics.monitor, 30).publish(
        value, measurement_headers("monitor", settings.group.name)
    )


def test_plan_shows_what_would_be_decided_now_on_the_newest_speeds(
    tmp_path: Path, kafka: Kafka, admin: Admin, prefix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = config(tmp_path, kafka, prefix)
    settings = settings_in(file)
    assert main(["plan", "--config", str(file)]) != 0
    assert f"there is no topic {prefix}-status" in capsys.readouterr().err
    ensure_topics(admin, settings.topics)
    picture, now = pair().picture(), datetime.now(UTC)
    overview = replace(picture.overview, time=now.isoformat(timespec="milliseconds"))
    publish(settings, whole(replace(picture, overview=overview), 1))
    assert main(["plan", "--config", str(file)]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("group shop, in bytes/s\nThe speeds are stale, so that nothing is scaled")
    assert "No change: everything stays where it is." in shown
    measure(settings, now, a_0=60, a_1=40, a_2=40, a_3=40)
    assert main(["plan", "--json", "--config", str(file)]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert [(move["partition"], move["from"], move["to"]) for move in plan["moves"]] == [("a-1", 1, 3)]
    assert plan["moves"][0]["reason"].startswith("consumer 1 was at 100 % of its capacity")
    old = replace(overview, time=(now - timedelta(minutes=5)).isoformat(timespec="milliseconds"))
    publish(settings, whole(replace(picture, overview=old), 2))
    assert main(["plan", "--config", str(file)]) == 1
    assert "so that no controller of group" in capsys.readouterr().out


def wait_for_the_next_millisecond() -> None:
    now = time.time_ns() // 1_000_000
    while time.time_ns() // 1_000_000 <= now + 1:
        pass


def read_until(words: bytes, terminal: int) -> bytes:
    """What `restow top` writes, which redraws every second, up to these words."""
    output, deadline_s = b"", time.monotonic() + 120
    while words not in output:
        assert time.monotonic() < deadline_s, output[-2000:]
        output += os.read(terminal, 65536)
    return output


def test_top_follows_the_group_on_a_terminal_until_q(tmp_path: Path, kafka: Kafka, admin: Admin, prefix: str) -> None:
    file = config(tmp_path, kafka, prefix)
    settings = settings_in(file)
    ensure_topics(admin, settings.topics)
    terminal, inside = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"}
    command = [sys.executable, "-m", "restow", "top", "--config", str(file)]
    with subprocess.Popen(command, stdin=inside, stdout=inside, stderr=inside, env=environment) as process:
        os.close(inside)
        output = read_until(b"waiting for the first picture", terminal)
        publish(settings, whole(drawn(partitions=3), 1))
        output += read_until(b"3 partitions", terminal)
        publish(settings, whole(drawn(partitions=7), 2))
        output += read_until(b"7 partitions", terminal)
        os.write(terminal, b"q")
        while process.poll() is None:
            try:
                output += os.read(terminal, 65536)
            except OSError:  # the other end is closed
                break
        assert process.wait(60) == 0, output[-2000:]
    os.close(terminal)


def test_top_needs_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: False)
    assert main(["top", "--config", str(config(tmp_path, Kafka("localhost:9092"), "shop"))]) == 2
    assert "restow top needs a terminal; `restow status` prints the group once" in capsys.readouterr().err
