from pathlib import Path

import pytest

from restow.cli import main


@pytest.mark.parametrize("name", ["restow-consumer-0", "other-consumer-1", "restow-consumer-x", "restow-consumer-01"])
def test_a_name_that_is_not_of_the_group_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    config = tmp_path / "restow.toml"
    config.write_text('[kafka]\nbootstrap = "127.0.0.1:9"\n[group]\nname = "restow"\n')
    assert main(["consumer", "--config", str(config), "--name", name, "--volume", str(tmp_path / "volume")]) == 2
    assert capsys.readouterr().err == (
        f"restow: --name {name} can't be used; it must be restow-consumer-N, where N is a number from 1 on\n"
    )
    assert not (tmp_path / "volume").exists()
