"""The modules that consumers load for their transforms: what counts as the code that they run by."""

import os
from pathlib import Path

import pytest

from restow.cli.support.local_modules import LocalModules, local_modules
from restow.cli.support.modules_beside import modules_of
from restow.errors import InvalidInput
from restow.settings import read_settings

SETTINGS = """
[kafka]
bootstrap = "a:1"
[group]
name = "orders"
[consume.orders]
transform = "shop.tables:orders"
[consume.clicks]
transform = "clicks:Clicks.rows"
[consume.raw]
table = "lake/raw"
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    here = tmp_path / "here"
    write(here, "shop/__init__.py", "")
    write(here, "shop/tables.py", "from . import prices\nfrom .money.units import cents\nimport json, pyspark")
    write(here, "shop/prices.py", "import rates")
    write(here, "shop/money/__init__.py", "")
    write(here, "shop/money/units.py", "def f():\n    import late")
    write(here, "shop/unused.py", "")
    write(here, "clicks.py", "import restow.model\nfrom common.dates import *")
    write(here, "rates.py", "")
    write(here, "late.py", "")
    write(here, "other.py", "")
    write(tmp_path / "lib", "common/dates.py", "import rates")
    write(tmp_path / "lib", "rates.py", "shadowed = True")
    return here


def write(directory: Path, name: str, text: str) -> None:
    file = directory / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def found(directory: Path, text: str = SETTINGS) -> LocalModules:
    settings = read_settings(text, "restow.toml", {})
    path = os.pathsep.join([str(directory.parent / "missing"), str(directory.parent / "lib")])
    return local_modules(settings, directory / "restow.toml", {"PYTHONPATH": path})


def test_modules_of_transforms_and_what_they_import_beside_restow_toml_and_on_pythonpath(directory: Path) -> None:
    assert sorted(found(directory).sources) == [
        "clicks.py",
        "common/dates.py",
        "late.py",
        "rates.py",
        "shop/__init__.py",
        "shop/money/__init__.py",
        "shop/money/units.py",
        "shop/prices.py",
        "shop/tables.py",
    ]
    assert found(directory).sources["rates.py"] == b"", "the one beside restow.toml comes first"
    assert found(directory).errors == {}


@pytest.mark.parametrize("name", ["shop/tables.py", "shop/__init__.py", "late.py", "../lib/common/dates.py"])
def test_a_change_of_any_of_them_changes_the_digest(directory: Path, name: str) -> None:
    before = found(directory).digest
    write(directory, name, (directory / name).read_text() + "\nmore = 1")
    assert found(directory).digest != before


@pytest.mark.parametrize("name", ["other.py", "shop/unused.py", "../lib/rates.py"])
def test_a_change_of_any_other_module_does_not(directory: Path, name: str) -> None:
    before = found(directory).digest
    write(directory, name, "more = 1")
    assert found(directory).digest == before


def test_the_digest_does_not_depend_on_the_place(directory: Path, tmp_path: Path) -> None:
    before = found(directory).digest
    moved = directory.rename(tmp_path / "there")
    assert found(moved).digest == before


def test_without_transforms_of_ones_own_there_is_no_digest(directory: Path) -> None:
    assert found(directory, '[kafka]\nbootstrap = "a:1"\n[group]\nname = "x"\n[consume.a]\ntable = "t"').digest is None
    installed = SETTINGS.replace("shop.tables", "pyspark.sql").replace("clicks:", "restow.model:")
    assert found(directory, installed).digest is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def (", "SyntaxError: invalid syntax, line 1"),
        ("a = 1\nreturn a", "SyntaxError: 'return' outside function, line 2"),
        ("x = '\0'", "source code string cannot contain null bytes"),
    ],
)
def test_a_module_that_is_no_python_counts_and_is_named(directory: Path, text: str, reason: str) -> None:
    before = found(directory).digest
    write(directory, "shop/tables.py", text)
    broken = found(directory)
    assert broken.digest not in (None, before)
    assert list(broken.errors) == [directory / "shop/tables.py"]
    assert reason in broken.errors[directory / "shop/tables.py"]


def test_modules_that_import_each_other_are_found_once(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "import b")
    write(tmp_path, "b.py", "import a")
    text = '[kafka]\nbootstrap = "a:1"\n[group]\nname = "x"\n[consume.a]\ntransform = "a:f"'
    assert sorted(found(tmp_path, text).sources) == ["a.py", "b.py"]


def test_an_import_from_above_the_first_package_is_ignored(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "from ...b import c\nfrom . import b")
    write(tmp_path, "b.py", "")
    text = '[kafka]\nbootstrap = "a:1"\n[group]\nname = "x"\n[consume.a]\ntransform = "a:f"'
    assert "a.py" in found(tmp_path, text).sources


def test_schemas_count_as_code_and_go_into_a_config_map_if_they_lie_beside_restow_toml(directory: Path) -> None:
    text = SETTINGS.replace('table = "lake/raw"', 'format = "json"\nschema = "{}"')
    before = found(directory).digest
    assert found(directory, text.format("raw.json")).digest == before, "consumers say that it is missing"
    write(directory, "raw.json", "{}")
    assert found(directory, text.format("raw.json")).sources["raw.json"] == b"{}"
    assert found(directory, text.format("raw.json")).digest != before
    flat = read_settings(text.format("raw.json").replace("shop.tables:orders", "clicks:orders"), "restow.toml", {})
    assert modules_of(flat, directory).beside["raw.json"] == "{}"


@pytest.mark.parametrize("path", ["missing.json", "schemas/raw.json"])
def test_a_schema_that_pods_would_not_find_is_refused(directory: Path, path: str) -> None:
    write(directory, "schemas/raw.json", "{}")
    text = SETTINGS.replace('table = "lake/raw"', f'format = "json"\nschema = "{path}"')
    with pytest.raises(InvalidInput) as refused:
        modules_of(read_settings(text, "restow.toml", {}), directory)
    assert str(refused.value) == (
        f'[consume.raw] schema = "{path}" can\'t be put into a ConfigMap; put the file beside restow.toml, or write '
        "the absolute path that it has in the image"
    )
