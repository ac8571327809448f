"""`restow up` shows the lines of its roles, on a terminal, in a pipe and on a full disk. tests/live runs it."""

import logging
import os
from pathlib import Path

import pytest

from restow.cli.main import main
from restow.cli.up import Shown


def test_lines_that_a_full_disk_does_not_take_are_counted_and_end_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log = os.open(tmp_path / "up.log", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    full, kept = os.open("/dev/full", os.O_WRONLY), os.dup(log)
    shown = Shown(log, in_colour=False)
    shown("one")
    os.dup2(full, log)
    shown("two")
    shown("three")
    os.dup2(kept, log)
    with caplog.at_level(logging.INFO, "restow"):
        shown("four")
    for descriptor in (log, full, kept):
        os.close(descriptor)
    assert (tmp_path / "up.log").read_text() == "one\nfour\n"
    assert caplog.messages == ["2 log lines before this one could not be written; was the disk full?"]


def test_a_reader_that_is_gone_ends_it() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with pytest.raises(BrokenPipeError):
        Shown(writer, in_colour=False)("line")
    os.close(writer)


def test_a_file_that_consumes_nothing_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "restow.toml"
    config.write_text('[kafka]\nbootstrap = "127.0.0.1:1"\n[group]\nname = "a"\n')
    assert main(["up", "--config", str(config)]) == 2
    assert "there is nothing to consume" in capsys.readouterr().err
