"""docs/settings.md says what the code says."""

import inspect
import re
from dataclasses import fields

from tests.support.paths import ROOT

from restow.protocol.topic_service import TopicService
from restow.settings import ClientProperties, Controller, Kafka, Spark, read_settings, reference
from restow.settings.schema import tables
from restow.settings.sections.controller import PRESETS

PAGE = ROOT / "docs" / "settings.md"
WRITTEN = reference.page(map(inspect.getsource, reference.kinds()))
SECTIONS = dict(re.findall(r"^## \[(\S+)\]\n(.*?)(?=^## |\Z)", WRITTEN, re.MULTILINE | re.DOTALL))


def rows(section: str) -> list[list[str]]:
    """The cells of each row, without the head."""
    lines = [line for line in SECTIONS[section].splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def test_the_page_is_what_the_code_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == WRITTEN, "docs/settings.md is old; write it anew with: make docs"


def test_every_table_and_every_key_is_there() -> None:
    assert [name.removesuffix(".NAME").strip("[]") for name in SECTIONS] == list(tables())
    for name, kind in {"consume.NAME": TopicService, "kafka": Kafka, "spark": Spark}.items():
        keys = [cells[0].strip("`") for cells in rows(name)]
        assert keys == ["any other key" if field.type is ClientProperties else field.name for field in fields(kind)]


def test_every_key_has_values_a_default_and_a_meaning() -> None:
    found = [cells for section in SECTIONS for cells in rows(section)]
    assert len(found) > 70
    assert [cells[0] for cells in found if len(cells) != 4 or not all(cells) or not cells[3].endswith(".")] == []


def test_the_defaults_can_be_written_into_the_file_and_change_nothing() -> None:
    required = {"kafka": ['bootstrap = "127.0.0.1:9092"'], "group": ['name = "lake"']}
    lines = []
    for section in [name for name in SECTIONS if not name.startswith("[")]:  # [[schedule]] is there or is not
        written = [(key.strip("`"), value.strip("`")) for key, _, value, _ in rows(section) if value.startswith("`")]
        lines += [f"[{section}]", *(f"{key} = {value}" for key, value in written)]
        lines += [line for line in required.get(section, []) if line.split()[0] not in dict(written)]
    least = "\n".join(line for name in required for line in (f"[{name}]", *required[name]))
    spelled = re.sub(r"(?m)^name = .*", 'name = "lake"', "\n".join(lines))
    assert read_settings(spelled, "all", {}) == read_settings(f"{least}\n[consume.NAME]", "least", {})


def test_the_page_on_policy_has_the_presets() -> None:
    page = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")
    for name in PRESETS["careful"]:
        values = [getattr(Controller.of_preset(preset), name) for preset in ("careful", "balanced", "lean")]
        assert f"| `{name}` | {' | '.join(f'{value:g}' for value in values)} |" in page
