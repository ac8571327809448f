import logging
import time
from pathlib import Path

import pytest
from tests.support.consumer_machines import ME, offsets, services
from tests.support.small_disk import SmallDisk

from restow.backoff import Backoff
from restow.consumer import volume as volume_module
from restow.consumer.checkpoint import Checkpoint, TableWrite
from restow.consumer.volume import PLAN, RETRY, STATE, Volume
from restow.errors import InvalidInput, RestowError
from restow.model import ConsumerId

SAVED = Checkpoint(ME, epoch=8, clean=False, positions=offsets(a_0=5, a_1=6, b_0=7), topics=services("a", "b"))


def test_the_next_process_reads_the_checkpoint(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Volume(tmp_path / "new", "restow", ME) as volume:
        assert volume.read() is None
        volume.write(Checkpoint(ME))
        volume.write(SAVED)
    with Volume(tmp_path / "new", "restow", ME) as volume:
        assert volume.read() == SAVED
    assert caplog.messages == []


def test_the_checkpoint_of_a_deleted_consumer_is_not_resumed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Volume(tmp_path, "restow", ME, "first") as volume:
        volume.write(SAVED)
    with Volume(tmp_path, "restow", ME, "first") as restarted:
        assert restarted.read() == SAVED
    assert caplog.messages == []
    with Volume(tmp_path, "restow", ME, "second") as created:
        assert created.read() is None
    assert [line.partition("from it: ")[2] for line in caplog.messages] == [
        "it is from a consumer that was deleted; others read its partitions now"
    ]


def test_a_clean_checkpoint_is_read_whatever_creation_wrote_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Volume(tmp_path, "restow", ME, "first") as volume:
        volume.write(Checkpoint(ME, epoch=8))
    with Volume(tmp_path, "restow", ME, "second") as created:
        assert created.read() == Checkpoint(ME, epoch=8)
    assert caplog.messages == []


def test_an_interrupted_write_leaves_the_previous_checkpoint(tmp_path: Path) -> None:
    with Volume(tmp_path, "restow", ME) as volume:
        volume.write(SAVED)
        (tmp_path / f"{STATE}.new").write_text('{"version": 1, "gro')
        assert volume.read() == SAVED
        volume.write(Checkpoint(ME))
        assert volume.read() == Checkpoint(ME)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "character 0 is not JSON"),
        ("[]", "it is no state of version 1"),
        ('{"version": 2}', "it is no state of version 1"),
        ('{"version": 1, "group": "other"}', "it belongs to the group other, and this is restow"),
        ('{"version": 1, "group": "restow", "saved": {"epoch": 3}}', "saved.consumer is missing"),
        (
            '{"version": 1, "group": "restow", "saved": {"consumer": 4}}',
            "it belongs to consumer 4, and this is consumer 3",
        ),
        (
            '{"version": 1, "group": "restow", "saved": {"consumer": 3, "positions": {"a": {"0": 1}}}}',
            "its topics are not those of its partitions",
        ),
    ],
)
def test_a_damaged_or_foreign_checkpoint_is_renamed_and_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: str, reason: str
) -> None:
    (tmp_path / STATE).write_text(content)
    with Volume(tmp_path, "restow", ME) as volume:
        assert volume.read() is None
        assert volume.read() is None
    [line] = caplog.messages
    aside = f"{STATE}.set-aside"
    assert line.startswith(f"{tmp_path / STATE} is renamed to {aside}, and nothing is resumed from it: {reason}")
    assert (tmp_path / aside).read_text() == content


PLANNED = (
    TableWrite("lake/a", "data/restow/consumer-3/7-8", offsets(a_0=5, a_1=6), offsets(a_0=9, a_1=6)),
    TableWrite("", "", offsets(b_0=7), offsets(b_0=70)),
)


def test_the_plan_of_a_cycle_lasts_until_it_is_forgotten(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Volume(tmp_path, "restow", ME, "first") as volume:
        volume.write(SAVED)
        assert volume.read_plan() == ()
        volume.write_plan(PLANNED)
    with Volume(tmp_path, "restow", ME, "second") as volume:
        assert volume.read_plan() == PLANNED
        volume.forget_plan()
        volume.forget_plan()
        assert volume.read_plan() == ()
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"version": 1, "gro', "character 15 is not JSON"),
        ('{"version": 1, "group": "other"}', "it belongs to the group other, and this is restow"),
        (
            '{"version": 1, "group": "restow", "plan": {"consumer": 4, "stages": []}}',
            "it belongs to consumer 4, and this is consumer 3",
        ),
        (
            (
                '{"version": 1, "group": "restow", "plan": {"consumer": 3, "stages": ['
                '{"table": "", "directory": "", "first": {"a": {"0": 1}}, "next": {}}]}}'
            ),
            "its first and next offsets are not of the same partitions",
        ),
    ],
)
def test_a_damaged_or_foreign_plan_is_renamed_and_not_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: str, reason: str
) -> None:
    (tmp_path / PLAN).write_text(content)
    with Volume(tmp_path, "restow", ME) as volume:
        assert volume.read_plan() == ()
        assert volume.read_plan() == ()
    [line] = caplog.messages
    assert line.startswith(
        f"{tmp_path / PLAN} is renamed to {PLAN}.set-aside, and the tables' vacuum removes what its cycle may have "
        f"left: {reason}"
    )


def test_a_volume_has_one_process_at_a_time(tmp_path: Path) -> None:
    with (
        Volume(tmp_path, "restow", ME),
        pytest.raises(RestowError, match=rf"the volume {tmp_path} is in use by process \d+; a volume has one process"),
    ):
        Volume(tmp_path, "restow", ME)
    with Volume(tmp_path, "restow", ConsumerId(9)):
        pass


def test_a_volume_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput, match="can't be used: File exists; name a directory"):
        Volume(tmp_path / "file", "restow", ME)


LARGER = Checkpoint(
    ME,
    epoch=9,
    clean=False,
    positions=offsets(**{f"a_{number}": number for number in range(2000)}),
    topics=services("a"),
)
"""Too large for the space that another checkpoint leaves."""


def test_on_a_full_disk_a_checkpoint_takes_the_place_of_the_older_one(
    disk: SmallDisk, caplog: pytest.LogCaptureFixture
) -> None:
    with Volume(disk.path, "restow", ME) as volume:
        volume.write(Checkpoint(ME))
        disk.fill()
        volume.write(SAVED)
        assert volume.read() == SAVED
    assert caplog.messages == []


def test_a_checkpoint_that_a_full_disk_does_not_take_leaves_no_older_one_and_is_written_when_there_is_room(
    disk: SmallDisk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "restow")
    monkeypatch.setattr(volume_module, "RETRY", Backoff(first_s=0.0, longest_s=0.0))
    with Volume(disk.path, "restow", ME) as volume:
        volume.write(SAVED)
        disk.fill()
        volume.write(LARGER)
        assert volume.read() is None  # the older one would resume partitions that others may have by now
        for _ in range(3):
            volume.catch_up()
        assert sorted(file.name for file in disk.path.iterdir()) == ["filler", "lock"]
        disk.free()
        volume.catch_up()
        assert volume.read() == LARGER
        (file := disk.path / STATE).unlink()
        volume.catch_up()
        assert not file.exists()  # there is nothing more to catch up with
    cant = f"{file} can't be written: No space left on device"
    assert caplog.messages == [
        f"{cant}; until it can, a restart begins without partitions; retrying",
        f"{file} is written again",
    ]


def test_retries_of_a_checkpoint_have_pauses(disk: SmallDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with Volume(disk.path, "restow", ME) as volume:
        disk.fill()
        volume.write(LARGER)
        disk.free()
        volume.catch_up()
        assert volume.read() is None
        now[0] += RETRY.first_s
        volume.catch_up()
        assert volume.read() == LARGER


def test_a_process_starts_on_a_full_disk(disk: SmallDisk) -> None:
    with Volume(disk.path, "restow", ME) as volume:
        volume.write(SAVED)
    disk.fill()
    with Volume(disk.path, "restow", ME) as restarted:
        assert restarted.read() == SAVED


def test_a_checkpoint_that_can_be_neither_written_nor_removed_ends_the_consumer(tmp_path: Path) -> None:
    """The next process would resume what is there."""
    (tmp_path / STATE / "in the way").mkdir(parents=True)
    cant = rf"{STATE} can't be written: Is a directory, and the older one can't be removed: Is a directory"
    with Volume(tmp_path, "restow", ME) as volume, pytest.raises(RestowError, match=cant):
        volume.write(SAVED)
