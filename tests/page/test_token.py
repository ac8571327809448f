"""The token is made once, for its owner alone."""

import stat
from pathlib import Path

import pytest

from restow.errors import InvalidInput
from restow.page.token import token_in, token_of


def test_it_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    token, file = token_in(tmp_path / "run" / "shop")
    assert len(token) >= 40
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert token_in(tmp_path / "run" / "shop") == (token, file)
    assert token_in(tmp_path / "run" / "other")[0] != token


def test_a_file_that_everybody_reads_is_refused(tmp_path: Path) -> None:
    _, file = token_in(tmp_path)
    file.chmod(0o644)
    with pytest.raises(InvalidInput, match="chmod 600"):
        token_of(file)


@pytest.mark.parametrize("content", ["", "short", "with spaces in between it", "ä" * 20])
def test_a_token_that_can_be_guessed_or_not_sent_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "page-token"
    file.write_text(content)
    file.chmod(0o600)
    with pytest.raises(InvalidInput, match="page-token"):
        token_of(file)


def test_a_directory_that_cant_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput, match="can't be written"):
        token_in(tmp_path / "file" / "below")
