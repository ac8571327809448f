"""docs/picture.md is up to date with the code."""

import inspect
import re

from tests.support.paths import ROOT

from restow.picture import picture, reference

PAGE = ROOT / "docs" / "picture.md"
WRITTEN = reference.page([inspect.getsource(picture)])


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == WRITTEN, "docs/picture.md is old; write it anew with: make docs"


def test_every_field_has_a_meaning() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*) \|$", WRITTEN, re.MULTILINE)
    assert len(rows) > 40
    assert [name for name, words, meaning in rows if not words or not meaning.endswith(".")] == []
