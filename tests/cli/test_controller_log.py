"""Where `restow controller` writes its event log."""

from pathlib import Path

import pytest

from restow.cli.main import main

SETTINGS = """
[kafka]
bootstrap = "127.0.0.1:1"
[group]
name = "lake"
[consume.orders]
table = "orders"
"""


def test_a_log_file_of_an_older_version_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config, file = tmp_path / "restow.toml", tmp_path / "events.jsonl"
    config.write_text(SETTINGS)
    file.write_text("older")
    assert main(["controller", "--config", str(config), "--log", str(file)]) == 2
    assert capsys.readouterr().err.endswith(
        f"{file} is a file; the event log is a directory of segments, so name another one with --log "
        "(`restow replay FILE` still reads a file of an older version)\n"
    )
    assert file.read_text() == "older"
    assert not (tmp_path / "restow-data").exists()
