"""The README's commands are run, on a real Kafka, and must print what the README shows.

They run in the README's order; commands that serve keep running, as in terminals of their own. A command without an
entry in `STEPS` fails the test, and so does output that differs from the README in more than numbers.
"""

import importlib.util
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from tests.support import shop_records
from tests.support.paths import ROOT

from restow.cli.main import main, parser
from restow.kafka.admin import Admin
from restow.kafka.embedded.ports import choose_ports
from restow.kafka.topics import wait_until_shown
from restow.platform.processes.ending import end_group
from restow.protocol.topic_service import TopicService
from restow.settings import Kafka, read_settings

Eventually = Callable[..., None]

README: Final = (ROOT / "README.md").read_text(encoding="utf-8")
PORT: Final = 9092
QUICK: Final = '[spark]\n"spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1"\n'
WITHIN_S: Final = 300.0


@dataclass(frozen=True)
class Command:
    words: str
    shown: tuple[str, ...]
    """The output in the README."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def commands() -> list[Command]:
    found: list[Command] = []
    for block in blocks("console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append(Command(re.sub(r"\s+#.*", "", line[2:]), ()))
            else:
                found[-1] = Command(found[-1].words, (*found[-1].shown, line))
    return found


def is_as_shown(shown: tuple[str, ...], answer: list[str]) -> bool:
    """Compares line by line, ignoring numbers. `…` stands for any lines, and at the end of a line for its rest."""
    if not shown:
        return True
    if shown[0] == "…":
        return any(is_as_shown(shown[1:], answer[skipped:]) for skipped in range(len(answer) + 1))
    if not answer:
        return False
    wanted, found = _without_numbers(shown[0]), _without_numbers(answer[0])
    is_same = found.startswith(wanted[:-1]) if wanted.endswith("…") else found == wanted
    return is_same and is_as_shown(shown[1:], answer[1:])


def _without_numbers(line: str) -> str:
    """Nor the space they take in a table."""
    return re.sub("─+", "─", re.sub(r"\s+", " ", re.sub(r"\d[\d.,:TZ-]*", "#", line))).strip()


class Reader:
    """Follows the README with a copy of examples/shop and a free port."""

    def __init__(self, directory: Path, eventually: Eventually) -> None:
        self.directory, self.eventually = ROOT, eventually
        self.shop = directory / "shop"
        self.answers = directory / "answers"
        self.answers.mkdir()
        self.port = choose_ports(1)[0]
        self.serving: dict[str, subprocess.Popen[bytes]] = {}
        self.expected_rows: dict[str, list[tuple[Any, ...]]] = {}
        self.odd_rows: dict[str, list[tuple[Any, ...]]] = {}
        self.unknown: list[str] = []

    @property
    def kafka(self) -> Kafka:
        return Kafka(f"127.0.0.1:{self.port}")

    def follow(self, command: Command) -> None:
        if command.words in STEPS:
            STEPS[command.words](self, command)
        else:
            self.unknown.append(command.words)

    def run(self, command: Command) -> list[str]:
        """Runs it to a successful end and compares its output."""
        ended = subprocess.run(
            shlex.split(command.words.replace(str(PORT), str(self.port))),
            cwd=self.directory,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=WITHIN_S,
        )
        assert ended.returncode == 0, f"{command.words}: {ended.stdout}"
        answer = ended.stdout.splitlines()
        assert is_as_shown(command.shown, answer), f"{command.words} printed: {answer}"
        return answer

    def serve(self, command: Command, word: str) -> None:
        """Starts it and waits until it has printed this word."""
        said = self.answers / f"{command.words.split()[1]}.txt"
        with said.open("wb") as answer:
            self.serving[command.words.split()[1]] = process = subprocess.Popen(
                shlex.split(command.words.replace(str(PORT), str(self.port))),
                cwd=self.directory,
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=answer,
                stderr=answer,
            )
        self.eventually(lambda: word in said.read_text() or process.poll() is not None, within_s=WITHIN_S)
        assert process.poll() is None, said.read_text()

    def close(self) -> None:
        """Ends whatever a failure left running."""
        end_group("data-engineering", self.shop / "restow-data", 10.0, lambda _: None)
        for process in reversed(self.serving.values()):
            process.terminate()
            process.wait(60)


def environment() -> dict[str, str]:
    """The environment after `source .venv/bin/activate`."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "RESTOW_CORES": "1", "RESTOW_MEMORY_MB": "1024"}


# What is done for each command.


def ask_make(reader: Reader, command: Command) -> None:
    """Checks what the target would run; `make test` would run this test."""
    would = subprocess.run(
        [*shlex.split(command.words), "-n", "--always-make"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    does = {"make demo": "restow demo --for 4m", "make test": "python -m pytest"}
    assert does[command.words] in would.stdout
    del reader


def understand(_: Reader, command: Command) -> None:
    """Only parses it; tests/demo runs it."""
    args = parser().parse_args(shlex.split(command.words)[1:])
    assert (args.seconds, args.headless, args.json) == (240.0, True, True)


def activate(_: Reader, command: Command) -> None:
    shell = ["bash", "-c", f"{command.words} && type -P restow"]
    found = subprocess.run(shell, cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == str(ROOT / ".venv" / "bin" / "restow")


def start_broker(reader: Reader, command: Command) -> None:
    reader.serve(command, "bootstrap")


def enter_shop(reader: Reader, command: Command) -> None:
    """Copies it, with the other port and a Spark that starts sooner."""
    source = ROOT / command.words.removeprefix("cd ")
    shutil.copytree(source, reader.shop, ignore=shutil.ignore_patterns("lake", "restow-data", "__pycache__"))
    settings = reader.shop / "restow.toml"
    settings.write_text(settings.read_text().replace(str(PORT), str(reader.port)) + QUICK)
    reader.directory = reader.shop


def fill(reader: Reader, command: Command) -> None:
    """Adds malformed records too."""
    reader.run(command)
    reader.expected_rows = shop_records.produce(reader.kafka)


def check(reader: Reader, command: Command) -> None:
    """Adds the README's own topic, with its settings and transform."""
    settings = reader.shop / "restow.toml"
    before = settings.read_text()
    [own], [transform] = blocks("toml"), blocks("python")
    settings.write_text(before + own[own.index("[consume.") :])
    (reader.shop / "payments.py").write_text(transform)
    with Admin(reader.kafka) as admin:
        admin.create_topic("payments", 1)
        wait_until_shown(admin, {"payments": 1})
    lines = reader.run(command)
    rows = "its rows have id, amount, _topic, _partition, _offset, _timestamp"
    assert f"right    [consume.payments] transform: no records to try; {rows}" in lines
    settings.write_text(before)


def consume(reader: Reader, command: Command) -> None:
    reader.run(command)
    reader.odd_rows = {topic: shop_records.odd_rows(reader.shop / "lake", topic) for topic in shop_records.TOPICS}


def start_group(reader: Reader, command: Command) -> None:
    reader.serve(command, "took over group data-engineering")


def produce_more(reader: Reader, command: Command) -> None:
    """Waits until the group's consumer has stored it."""
    lake = reader.shop / "lake"
    before = shop_records.count(lake, "orders")
    reader.run(command)
    reader.eventually(lambda: shop_records.count(lake, "orders") == before + 500, within_s=WITHIN_S)


def bring_down(reader: Reader, command: Command) -> None:
    reader.run(command)
    assert reader.serving.pop("up").wait(60) == 0


def begin(reader: Reader, command: Command) -> None:
    """What it writes is as right as what is in the repository."""
    reader.run(command)
    settings = read_settings((reader.directory / "mine" / "restow.toml").read_text(), "restow.toml", {})
    assert list(settings.consume) == ["clicks", "orders"]
    assert "`amount` double" in (reader.directory / "mine" / "transforms.py").read_text()


def run(reader: Reader, command: Command) -> None:
    reader.run(command)


def run_at_home(reader: Reader, command: Command) -> None:
    reader.directory = ROOT
    reader.run(command)


STEPS: Final[dict[str, Callable[[Reader, Command], None]]] = {
    "make demo": ask_make,
    "make test": ask_make,
    "restow demo --for 4m --headless --json": understand,
    "source .venv/bin/activate": activate,
    f"restow broker --port {PORT}": start_broker,
    "cd examples/shop": enter_shop,
    "python produce.py": fill,
    "restow check": check,
    "restow consume --topics orders,clicks --once": consume,
    "python revenue.py": run,
    "restow up": start_group,
    "python produce.py --orders 500 --seconds 10": produce_more,
    "restow status": run,
    "restow replay --only decision": run,
    "restow down": bring_down,
    f"restow init --bootstrap 127.0.0.1:{PORT} --dir mine --topics orders,clicks": begin,
    "restow plan examples/plan.json": run_at_home,
}


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory, eventually: Eventually) -> Iterator[Reader]:
    """After all commands of the README."""
    reader = Reader(tmp_path_factory.mktemp("readme"), eventually)
    try:
        for command in commands():
            reader.follow(command)
        yield reader
        broker = reader.serving["broker"]
        broker.send_signal(signal.SIGINT)
        assert broker.wait(60) == 0
    finally:
        reader.close()


@pytest.mark.spark
def test_every_command_runs_and_prints_what_is_shown(reader: Reader) -> None:
    assert reader.unknown == []
    assert {command.words for command in commands()} == STEPS.keys()


@pytest.mark.spark
@pytest.mark.parametrize("topic", ["orders", "clicks"])
def test_the_shop_s_records_are_parsed_cleaned_and_enriched_and_duckdb_reads_them(reader: Reader, topic: str) -> None:
    assert reader.odd_rows[topic] == reader.expected_rows[topic]
    lineage = ["_topic", "_partition", "_offset", "_timestamp"]
    named = {
        "orders": ["id", "ordered_at", "customer", "country", "amount", "currency", "euros", "is_large"],
        "clicks": ["id", "clicked_at", "customer", "page", "section", "device"],
    }
    assert shop_records.columns(reader.shop / "lake", topic) == [*named[topic], *lineage]


def test_no_command_is_in_another_kind_of_block() -> None:
    outside = re.sub(r"^```console\n.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"^ *\$ .*", outside, re.MULTILINE) == []
    assert re.findall(r"^    (?:restow|make) .*", outside, re.MULTILINE) == []


def inline() -> list[str]:
    text = re.sub(r"^```\w+\n.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL)
    return sorted({words for words in re.findall(r"`([^`\n]+)`", text) if re.match(r"(restow|make) ", words)})


@pytest.mark.parametrize("words", inline())
def test_a_command_that_is_only_mentioned_exists(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    program, *arguments = shlex.split(words)
    if program == "make":
        subprocess.run(["make", "-n", *arguments], cwd=ROOT, check=True, capture_output=True)
        return
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("usage: restow ")


def test_the_settings_are_accepted() -> None:
    [text] = blocks("toml")
    settings = read_settings(text, "README.md", {})
    assert settings.kafka.bootstrap == f"127.0.0.1:{PORT}"
    assert settings.group.name == "payments"
    assert settings.consumer.cores == 1.0
    assert dict(settings.consume) == {"payments": TopicService(table="lake/payments", transform="payments:paid")}


def test_every_linked_page_and_picture_exists() -> None:
    linked = {*re.findall(r"\]\(([^)#]+)\)", README), *re.findall(r'(?:src|srcset)="([^"]+)"', README)}
    assert {"docs/system.svg", "docs/system-dark.svg", "docs/pipelines.md"} <= linked
    assert [name for name in sorted(linked) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize(
    ("shown", "answer", "same"),
    [
        (("stored 1000 records",), ["stored 25 records"], True),
        (("stored 1000 records",), ["lost 25 records"], False),
        (("a", "b"), ["a", "x", "b"], False),
        (("a", "…", "b"), ["a", "x", "y", "b", "z"], True),
        (("a", "…", "b"), ["a", "x"], False),
        (("rows of id, at, …",), ["rows of id, at, customer"], True),
        (("2026-11-16T06:57:09.514Z INFO stored",), ["2027-01-02T03:04:05.006Z INFO stored"], True),
    ],
)
def test_output_is_compared_except_for_its_numbers(shown: tuple[str, ...], answer: list[str], same: bool) -> None:
    assert is_as_shown(shown, answer) is same


def test_the_picture_is_what_its_script_draws() -> None:
    found = importlib.util.spec_from_file_location("picture", ROOT / "scripts" / "picture.py")
    assert found is not None
    assert found.loader is not None
    picture = importlib.util.module_from_spec(found)
    sys.modules["picture"] = picture
    found.loader.exec_module(picture)
    for name, colours in picture.PICTURES.items():
        written = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert written == picture.draw(colours), f"docs/{name} is outdated; run: make docs"
