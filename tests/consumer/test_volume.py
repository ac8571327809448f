from pathlib import Path

import pytest
from tests.support.consumer_machines import ME, offsets, services

from restow.consumer.checkpoint import Checkpoint, TableWrite
from restow.consumer.volume import PLAN, STATE, Volume
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
