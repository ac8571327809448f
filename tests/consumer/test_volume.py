from pathlib import Path

import pytest
from tests.support.consumer_machines import ME, offsets, services

from restow.consumer.checkpoint import Checkpoint, TableWrite
from restow.consumer.volume import PLAN, STATE, Volume
from restow.errors import InvalidInput, RestowError
from restow.model import ConsumerId

SAVED = Checkpoint(ME, epoch=8, clean=False, positions=offsets(a_0=5, a_1=6, b_0=7), topics=services("a", "b"))


@pytest.fixture
def said() -> list[str]:
    return []


def test_what_was_saved_is_read_by_the_next_process(tmp_path: Path, said: list[str]) -> None:
    with Volume(tmp_path / "new", "restow", ME, said.append) as volume:
        assert volume.read() is None
        volume.write(Checkpoint(ME))
        volume.write(SAVED)
    with Volume(tmp_path / "new", "restow", ME, said.append) as volume:
        assert volume.read() == SAVED
    assert said == []


def test_what_one_that_was_deleted_held_is_not_for_the_next_of_its_number(tmp_path: Path, said: list[str]) -> None:
    with Volume(tmp_path, "restow", ME, said.append, "first") as volume:
        volume.write(SAVED)
    with Volume(tmp_path, "restow", ME, said.append, "first") as restarted:
        assert restarted.read() == SAVED
    assert said == []
    with Volume(tmp_path, "restow", ME, said.append, "second") as created:
        assert created.read() is None
    assert [line.partition("from it: ")[2] for line in said] == [
        "it is of one that was deleted since, and what it held is read by others"
    ]


def test_one_that_ended_cleanly_left_nothing_that_could_be_mistaken(tmp_path: Path, said: list[str]) -> None:
    with Volume(tmp_path, "restow", ME, said.append, "first") as volume:
        volume.write(Checkpoint(ME, epoch=8))
    with Volume(tmp_path, "restow", ME, said.append, "second") as created:
        assert created.read() == Checkpoint(ME, epoch=8)
    assert said == []


def test_a_write_that_was_cut_off_leaves_what_was_before(tmp_path: Path, said: list[str]) -> None:
    with Volume(tmp_path, "restow", ME, said.append) as volume:
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
def test_a_state_that_is_damaged_or_not_ours_is_set_aside(
    tmp_path: Path, said: list[str], content: str, reason: str
) -> None:
    (tmp_path / STATE).write_text(content)
    with Volume(tmp_path, "restow", ME, said.append) as volume:
        assert volume.read() is None
        assert volume.read() is None
    [line] = said
    aside = f"{STATE}.set-aside"
    assert line.startswith(f"{tmp_path / STATE} is set aside as {aside}, and nothing is resumed from it: {reason}")
    assert (tmp_path / aside).read_text() == content


PLANNED = (
    TableWrite("lake/a", "data/restow/consumer-3/7-8", offsets(a_0=5, a_1=6), offsets(a_0=9, a_1=6)),
    TableWrite("", "", offsets(b_0=7), offsets(b_0=70)),
)


def test_the_plan_of_a_cycle_is_there_from_its_beginning_to_its_end(tmp_path: Path, said: list[str]) -> None:
    with Volume(tmp_path, "restow", ME, said.append, "first") as volume:
        volume.write(SAVED)
        assert volume.read_plan() == ()
        volume.write_plan(PLANNED)
    with Volume(tmp_path, "restow", ME, said.append, "second") as volume:
        assert volume.read_plan() == PLANNED, "whoever left it half done"
        volume.forget_plan()
        volume.forget_plan()
        assert volume.read_plan() == ()
    assert said == []


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
            "its offsets are not of the same partitions",
        ),
    ],
)
def test_a_plan_that_is_damaged_or_not_ours_is_set_aside(
    tmp_path: Path, said: list[str], content: str, reason: str
) -> None:
    (tmp_path / PLAN).write_text(content)
    with Volume(tmp_path, "restow", ME, said.append) as volume:
        assert volume.read_plan() == ()
        assert volume.read_plan() == ()
    [line] = said
    assert line.startswith(
        f"{tmp_path / PLAN} is set aside as {PLAN}.set-aside, and what was under way is left to whoever sweeps the "
        f"tables: {reason}"
    )


def test_a_volume_has_one_process_at_a_time(tmp_path: Path, said: list[str]) -> None:
    with (
        Volume(tmp_path, "restow", ME, said.append),
        pytest.raises(RestowError, match=rf"the volume {tmp_path} is in use by process \d+; a volume has one process"),
    ):
        Volume(tmp_path, "restow", ME, said.append)
    with Volume(tmp_path, "restow", ConsumerId(9), said.append):
        pass


def test_a_volume_that_is_no_directory_is_refused(tmp_path: Path, said: list[str]) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput, match="can't be used: File exists; name a directory"):
        Volume(tmp_path / "file", "restow", ME, said.append)
