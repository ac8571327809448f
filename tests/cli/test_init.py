"""`restow init` without a broker: files, options, questions and errors."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from restow.cli.main import main
from restow.settings import read_settings


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory whose name makes a group's."""
    directory = tmp_path / "My shop"
    directory.mkdir()
    monkeypatch.chdir(directory)
    return directory


def test_offline_it_writes_a_template_that_is_valid_and_says_what_it_took_for_granted(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", "--offline", "--topics", "orders,clicks"]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        "wrote transforms.py",
        "wrote restow.toml",
        "next: restow check, restow up, restow status",
    ]
    assert printed.err.splitlines() == [
        "restow: Kafka's brokers: 127.0.0.1:9092 (--bootstrap says otherwise)",
        "restow: The group's name: my-shop (--group says otherwise)",
        (
            "restow: Consumers, spark with Delta tables, or light with SQLite tables for a trial: spark (--light says "
            "otherwise)"
        ),
        "restow: 127.0.0.1:9092 is not looked at: correct the topics and transforms by hand",
    ]
    settings = read_settings((here / "restow.toml").read_text(), "restow.toml", {})
    assert settings.group.name == "my-shop"
    assert {topic: service.transform for topic, service in settings.consume.items()} == {
        "orders": "transforms:orders",
        "clicks": "transforms:clicks",
    }
    assert sorted(file.name for file in here.iterdir()) == ["restow.toml", "transforms.py"]


@pytest.mark.parametrize("existing", ["restow.toml", "transforms.py"])
def test_it_writes_over_nothing_unless_forced(here: Path, existing: str, capsys: pytest.CaptureFixture[str]) -> None:
    (here / existing).write_text("mine")
    assert main(["init", "--offline"]) == 2
    assert f"{existing} exists, and nothing was changed" in capsys.readouterr().err
    assert [(file.name, file.read_text()) for file in here.iterdir()] == [(existing, "mine")]
    assert main(["init", "--offline", "--force"]) == 0
    assert "mine" not in (here / existing).read_text()


@pytest.mark.usefixtures("here")
def test_another_directory_is_made_and_named_in_what_comes_next(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--offline", "--dir", "new/lake"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == (
        "next: restow check --config new/lake/restow.toml, restow up --config new/lake/restow.toml, "
        "restow status --config new/lake/restow.toml"
    )
    assert read_settings(Path("new/lake/restow.toml").read_text(), "", {}).group.name == "lake"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--group", "Shop"], "--group 'Shop' is not a valid group name; it must be 1 to 40 lowercase letters"),
        (["--dir", "42"], "--group is needed: '' is not a valid group name"),
        (["--bootstrap", "broker"], 'bootstrap = "broker" can\'t be used; it must be one or more host:port'),
        (["--property", "sasl.password=hush"], "write 'sasl.password=${SASL_PASSWORD}', in single quotes"),
        (["--property", "sasl.password=${NO_SUCH}"], "needs the environment variable NO_SUCH, which is not set"),
        (["--property", "bootstrap.servers=a:1"], "bootstrap.servers is called bootstrap here"),
    ],
)
def test_a_mistake_is_reported_before_anything_is_written(
    options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", "--offline", *options]) == 2
    printed = capsys.readouterr().err
    assert words in printed
    assert "hush" not in printed
    assert list(Path().iterdir()) == []


def test_secrets_are_references_in_the_file(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", "hush")
    properties = ("security.protocol=SASL_SSL", "sasl.password=${KAFKA_PASSWORD}")
    assert main(["init", "--offline", *(word for each in properties for word in ("--property", each))]) == 0
    text = (here / "restow.toml").read_text()
    assert '"sasl.password" = "${KAFKA_PASSWORD}"' in text
    assert "hush" not in text


@pytest.mark.usefixtures("here")
def test_a_broker_that_does_not_answer_is_named_and_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--bootstrap", "127.0.0.1:1"]) == 1
    error = capsys.readouterr().err
    assert "127.0.0.1:1 doesn't answer" in error
    assert "correct --bootstrap, or write a template with --offline" in error
    assert list(Path().iterdir()) == []


def test_on_a_terminal_it_asks_and_an_answer_that_can_not_be_used_is_asked_again(here: Path) -> None:
    screen, terminal = pty.openpty()
    command = [sys.executable, "-m", "restow", "init", "--bootstrap", "127.0.0.1:1"]
    with subprocess.Popen(command, cwd=here, stdin=terminal, stdout=terminal, stderr=terminal) as asking:
        os.close(terminal)
        for prompt, reply in (
            ("The group's name [my-shop]: ", "My Shop"),
            ("The group's name [my-shop]: ", "lake"),
            ("for a trial [spark]: ", "light"),
            ("Write a template without looking? [y/N]: ", "y"),
        ):
            assert prompt in until(screen, prompt)
            os.write(screen, f"{reply}\n".encode())
        said = until(screen, "restow status")
        assert asking.wait(60) == 0
    os.close(screen)
    assert "wrote restow.toml" in said
    assert read_settings((here / "restow.toml").read_text(), "restow.toml", {}).consumer.pipeline == "light"


def until(screen: int, words: str) -> str:
    """Reads the terminal until the words are there, or its program has ended."""
    shown = ""
    while words not in shown:
        try:
            shown += os.read(screen, 4096).decode()
        except OSError:
            break
    return shown
