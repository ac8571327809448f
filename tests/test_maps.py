"""The maps for newcomers are true: every path that docs/architecture.md and CONTRIBUTING.md name exists."""

import re
from pathlib import Path

import pytest
from tests.support.paths import ROOT

MAPS = ("docs/architecture.md", "CONTRIBUTING.md")
FENCED = re.compile(r"```.*?```", re.DOTALL)
NAMED = re.compile(r"`([\w.-]+(?:/[\w.-]*)+|[\w-]+\.(?:md|toml|py))`")
LINKED = re.compile(r"\]\(([^)#:]+)\)")


def paths_in(page: str, text: str) -> set[Path]:
    """Paths in backticks are relative to the repository, targets of links to their page."""
    prose = FENCED.sub("", text)
    named = {ROOT / path for path in NAMED.findall(prose)}
    return named | {(ROOT / page).parent / target for target in LINKED.findall(prose)}


@pytest.mark.parametrize("page", MAPS)
def test_every_path_exists(page: str) -> None:
    paths = paths_in(page, (ROOT / page).read_text())
    assert len(paths) > 15, "the pattern that finds paths is broken"
    assert [str(path.relative_to(ROOT)) for path in sorted(paths) if not path.exists()] == []


def test_a_path_that_is_gone_is_found() -> None:
    text = "See `src/restow/nowhere.py`, `src/restow/model.py` and [a page](gone.md).\n```\n`src/fenced.py`\n```\n"
    missing = {path for path in paths_in("docs/architecture.md", text) if not path.exists()}
    assert missing == {ROOT / "src/restow/nowhere.py", ROOT / "docs/gone.md"}


def test_architecture_names_every_package() -> None:
    """A package that no map shows can't be found."""
    text = (ROOT / "docs/architecture.md").read_text()
    packages = sorted(init.parent.name for init in (ROOT / "src/restow").glob("*/__init__.py"))
    assert [name for name in packages if f"src/restow/{name}/" not in text] == []
