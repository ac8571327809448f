"""An error in a user's code becomes one line: type, message, and the place in the user's own file."""

import json
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from restow.pipeline.transforms import TransformError, imported
from restow.pipeline.user_errors import LONGEST, described, described_traceback

SHOP = """\
import decimal
import json


class Unpaid(Exception):
    pass


def parsed(text):
    return json.loads(text)


def priced(text):
    return decimal.Decimal(text)


def paid(text):
    try:
        return {}[text]
    except KeyError:
        raise Unpaid()


def wordy(text):
    raise ValueError("many words\\n" * 1000)
"""

CASES = [
    (
        "parsed",
        "{",
        "json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        10,
    ),
    ("priced", "x", "decimal.InvalidOperation: [<class 'decimal.ConversionSyntax'>]", 14),
    ("paid", "x", "shop_with_errors.Unpaid", 21),
]
"""Function, argument, what it raises, and in which line of the shop: not in that of the library."""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "shop_with_errors.py"
    file.write_text(SHOP)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "shop_with_errors", raising=False)
    return file


def raised(function: Callable[[str], object], argument: str) -> Exception:
    try:
        function(argument)
    except Exception as error:  # noqa: BLE001
        return error
    raise AssertionError


@pytest.mark.parametrize(("name", "argument", "message", "line"), CASES)
def test_an_error_has_its_place_in_the_users_file(
    shop: Path, name: str, argument: str, message: str, line: int
) -> None:
    error = raised(imported(f"shop_with_errors:{name}", "work"), argument)
    assert described(error) == f"{message} ({shop}, line {line}, in {name})"


@pytest.mark.parametrize(("name", "argument", "message", "line"), CASES)
def test_so_has_the_traceback_of_another_process(shop: Path, name: str, argument: str, message: str, line: int) -> None:
    program = f"import shop_with_errors; shop_with_errors.{name}({argument!r})"
    ran = subprocess.run([sys.executable, "-c", program], cwd=shop.parent, capture_output=True, text=True, check=False)
    javas = (
        f"PythonException:\n  An exception was thrown.\n{ran.stderr}\n\tat org.apache.spark.Task.run(Task.scala:1)\n"
    )
    found = described_traceback(javas)
    assert found == f"{message} ({shop}, line {line}, in {name})"


def test_a_long_message_is_cut_and_its_place_is_kept(shop: Path) -> None:
    error = raised(imported("shop_with_errors:wordy", "work"), "")
    text = "".join(traceback.format_exception(error))
    for line in (described(error), described_traceback(text)):
        assert line is not None
        assert line.startswith("ValueError: many words many words ")
        assert line.endswith(f"… ({shop}, line 25, in wordy)")
        assert len(line) < LONGEST + 100 + len(str(shop))
        assert "\n" not in line


def test_no_source_line_is_quoted_which_may_have_a_secret(shop: Path) -> None:
    shop.write_text('def connected(text):\n    return {}["host"], "password=hunter2"\n')
    error = raised(imported("shop_with_errors:connected", "work"), "")
    assert described(error) == f"KeyError: 'host' ({shop}, line 2, in connected)"
    assert described_traceback("".join(traceback.format_exception(error))) == described(error)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import json\ndef orders(records)\n", "SyntaxError: expected ':' (FILE, line 2)"),
        (
            "import nothing_like_it\n",
            "ModuleNotFoundError: No module named 'nothing_like_it' (FILE, line 1, in <module>)",
        ),
        ("\n1 / 0\n", "ZeroDivisionError: division by zero (FILE, line 2, in <module>)"),
    ],
)
def test_a_module_that_can_not_be_imported_is_reported_with_its_line(shop: Path, text: str, reason: str) -> None:
    shop.write_text(text)
    with pytest.raises(TransformError) as error:
        imported("shop_with_errors:orders", "work")
    place = "the transform shop_with_errors:orders can't be imported: "
    assert str(error.value) == place + reason.replace("FILE", str(shop))


def test_errors_of_a_library_without_user_code_have_the_librarys_place() -> None:
    error = raised(json.loads, "{")
    error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
    assert "/json/" in described(error)


def test_text_without_a_traceback_has_no_description() -> None:
    assert described_traceback("AnalysisException: no such column") is None
