"""docs/settings.md, written from the code: every key of restow.toml with its values, default, meaning and reason.

schema.py and sections/ have all of it. `make docs` (scripts/docs.py) writes the page; a test fails when the page and
the code differ.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, Final, get_args, get_origin, get_type_hints

from restow.model import SortedMapping
from restow.protocol.pages import Docs, docs_of, table
from restow.settings.passthrough import PassthroughTable
from restow.settings.properties import ClientProperties
from restow.settings.reader import key_of, wanted
from restow.settings.schema import Settings, tables

INTRODUCTION: Final = """\
# Settings

*Written from the code by `make docs`; don't edit it.*

Every key of restow.toml. Only those marked **required** must be written. A number's unit is in its name: `_s` is
seconds, `_ms` milliseconds, `_bytes` bytes; `_mb` and `_gb` are MB or MiB, GB or GiB, as the text says. `"${NAME}"` in
a text is replaced by that environment variable, in each process that reads the file, so that secrets stay out of it.

A relative path starts in the directory of restow.toml, wherever the command is given: tables, `directory` in
[processes], `kubeconfig`, modules of transforms, and the properties of Kafka and Spark that are paths (certificates,
keys, keytabs, jars, files, directories).

`restow check` checks the file. A key that restow doesn't know, or a value that it can't use, is an error that names the
file, the key and what would be right.
"""

HEADS: Final = ("key", "value", "default", "meaning and reason")
REQUIRED: Final = "**required**"
UNSET: Final = "–"
UNITS: Final = {"_bytes_per_s": "bytes per second", "_ms": "milliseconds", "_s": "seconds", "_bytes": "bytes"}
"""By the end of a key; the first that fits."""


def kinds() -> tuple[type, ...]:
    """The dataclasses that the page describes. `page` needs the source of each."""
    hints = get_type_hints(Settings)
    return (Settings, *(_kind(hints[name]) for name in tables()))


def page(sources: Iterable[str]) -> str:
    """`sources`: the source text of each of `kinds`."""
    docs = {name: doc for source in sources for name, doc in docs_of(source)}
    hints = get_type_hints(Settings, include_extras=True)
    sections = (_section(setting, hints[setting.name], docs) for setting in tables().values())
    return "\n".join([INTRODUCTION, *sections])


def _section(setting: "Field[Any]", hint: Any, docs: Mapping[str, Docs]) -> str:
    """One table of restow.toml, or one of many that are alike, as [consume.NAME]."""
    kind = _kind(hint)
    name, text = setting.name, docs[kind.__name__].text
    if get_origin(hint) is SortedMapping:
        name, text = f"{setting.name}.NAME", docs["Settings"].of_field[setting.name]
    elif get_origin(hint) is tuple:
        name = f"[{setting.name}]"
    text = text.removeprefix(f"`[{name}]`: ")
    rows = table(HEADS, _rows(kind, docs[kind.__name__]))
    return f"## [{name}]\n\n{text[:1].upper()}{text[1:]}\n\n{rows}"


def _kind(hint: Any) -> type:
    """The dataclass of a table, also where the file may have many of them."""
    if get_origin(hint) is SortedMapping:
        _, kind = get_args(hint)
    elif get_origin(hint) is tuple:
        kind, _ = get_args(hint)
    else:
        kind = hint
    assert isinstance(kind, type)
    return kind


def _rows(kind: Any, docs: Docs) -> Iterator[tuple[str, ...]]:
    hints = get_type_hints(kind, include_extras=True)
    for setting in fields(kind):
        hint, meaning = hints[setting.name], docs.of_field[setting.name]
        if hint is ClientProperties:
            yield "any other key", "text, a number, true or false", UNSET, meaning
        else:
            key = key_of(setting.name)
            yield f"`{key}`", _values(key, hint), _default(setting), meaning


def _values(name: str, hint: Any) -> str:
    words = wanted(hint)
    unit = next((unit for end, unit in UNITS.items() if name.endswith(end)), None)
    return words if unit is None else words.replace("a finite number", unit).replace("a whole number", f"whole {unit}")


def _default(setting: "Field[Any]") -> str:
    if setting.default is not MISSING:
        value = setting.default
    elif setting.default_factory is not MISSING:
        value = setting.default_factory()
    else:
        return REQUIRED
    is_unset = value is None or isinstance(value, PassthroughTable | SortedMapping)
    return UNSET if is_unset else f"`{_as_toml(value)}`"


def _as_toml(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case float() if value.is_integer():
            return str(int(value))
        case tuple():
            return f"[{', '.join(map(_as_toml, value))}]"
        case _:
            return str(value)
