"""The pages for operators: their commands are understood, and their flags, messages and settings are the code's."""

import ast
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest
from tests.support.paths import ROOT

from restow.cli.main import parser
from restow.controller.broken_code import BROKEN
from restow.controller.closing import BUDGET
from restow.controller.fastest import INFEASIBLE
from restow.controller.foreign import ELSEWHERE
from restow.controller.gains import NO_GAIN
from restow.controller.parking import PARKED
from restow.controller.poison import SUSPECTS
from restow.controller.reassign import OVERLOADED, OVERPINNED
from restow.controller.roll import OUTDATED
from restow.controller.schedules import SCHEDULE
from restow.controller.sentinel import IMPOSSIBLE, MISSING, STALE
from restow.controller.starts import FAILED_STARTS
from restow.controller.stuck import STUCK
from restow.controller.urgency import RETENTION_FIRST
from restow.picture import retention
from restow.protocol.topic_service import TopicService
from restow.settings import Settings

PAGES: Final = ("operations.md", "troubleshooting.md")
FLAGS: Final = {
    *(BROKEN, ELSEWHERE, FAILED_STARTS, INFEASIBLE, OVERLOADED, OUTDATED, IMPOSSIBLE, MISSING, STALE),
    *(
        NO_GAIN,
        OVERPINNED,
        STUCK,
        SUSPECTS,
        BUDGET,
        PARKED,
        RETENTION_FIRST,
        SCHEDULE,
        "failing TOPIC",
        "refused TOPIC",
        "rejected TOPIC",
    ),
    retention.FLAG,  # raised by the picture
}


def text_of(page: str) -> str:
    return (ROOT / "docs" / page).read_text(encoding="utf-8")


def commands(page: str) -> Iterator[str]:
    """Every restow command, in a block or inline, without its comment."""
    text = text_of(page)
    yield from re.findall(r"^    (?:/opt/restow/bin/)?(restow .*?)(?:  +#.*)?$", text, re.MULTILINE)
    yield from re.findall(r"`(restow [^`…]+)`", text)


def cases() -> list[tuple[str, str]]:
    return sorted({(page, command) for page in PAGES for command in commands(page)})


@pytest.mark.parametrize(("page", "command"), cases())
def test_a_command_is_understood(page: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    del page
    words = shlex.split(command.partition(" | ")[0])[1:]
    with suppress(SystemExit):  # --help and --version end so, and so does a mistake
        parser().parse_args(words)
    mistake = capsys.readouterr().err
    assert mistake == "" or "the following arguments are required" in mistake


def test_every_flag_has_a_row() -> None:
    [section] = re.findall(r"^## Flags$.*?(?=^## )", text_of("operations.md"), re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)) == FLAGS


def test_no_flag_is_raised_that_this_test_does_not_know() -> None:
    raised = set()
    for file in (ROOT / "src" / "restow" / "controller").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "flag":
                raised.add(ast.unparse(node.args[0]))
    names = {"BROKEN", "ELSEWHERE", "FAILED_STARTS", "INFEASIBLE", "OVERLOADED", "OUTDATED", "IMPOSSIBLE", "OVERPINNED"}
    names |= {"MISSING", "NO_GAIN", "STALE", "STUCK", "SUSPECTS", "_flag_of(topic)", "failing_flag(topic)"}
    names.add("left_out_flag(topic)")
    assert raised == {*names, "PARKED", "SCHEDULE", "RETENTION_FIRST", "closing.BUDGET"}


def texts(file: Path) -> Iterator[str]:
    """Every text in a module; what is filled in later is `…`."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)  # type: ignore[misc]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.sub(r"%(\.\d)?[sdgfr]", "…", node.value)


def symptoms() -> list[str]:
    return re.findall(r"^\| `([^`]+)`", text_of("troubleshooting.md"), re.MULTILINE)


def test_every_quoted_message_is_one_of_the_code_s() -> None:
    known = "\n".join(text for file in sorted((ROOT / "src").rglob("*.py")) for text in texts(file))
    assert len(symptoms()) > 20
    for symptom in symptoms():
        parts = [part for part in symptom.split("…") if re.search(r"[a-z]{3}", part)]
        assert parts, symptom
        assert [part for part in parts if part.strip() not in known] == [], symptom


@pytest.mark.parametrize("page", PAGES)
def test_settings_that_are_named_with_their_table_exist(page: str) -> None:
    named = re.findall(r"`?\[(\w+)\] (\w+)`", text_of(page))
    assert named
    tables = {**Settings.__annotations__, "consume": TopicService}
    for table, key in named:
        assert key in tables[table].__dataclass_fields__ or (table, key) == ("kafka", "can"), f"[{table}] {key}"


@pytest.mark.parametrize("page", sorted(file.name for file in (ROOT / "docs").glob("*.md")))
def test_every_page_that_is_linked_exists(page: str) -> None:
    linked = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text_of(page))
    assert [link for link in linked if not (ROOT / "docs" / link).exists()] == []
