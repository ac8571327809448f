"""Parses restow.toml into `Settings`. Its dataclasses define the known keys, their types and constraints.

For an invalid file it raises InvalidSettings, which has a line for each error: the file, the key, the value and what
would be right. `restow check` prints all of them, the other commands the first.

The command line calls it with the file's text and the environment; this module reads neither.
"""

import difflib
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from types import NoneType, TracebackType, UnionType
from typing import Annotated, Any, TypeGuard, Union, get_args, get_origin, get_type_hints

from restow.errors import InvalidInput
from restow.model import SortedMapping
from restow.settings.checks import Check, IfMissing
from restow.settings.passthrough import PassthroughTable
from restow.settings.properties import REDACTED, ClientProperties, is_secret
from restow.settings.schema import Settings
from restow.settings.schema import tables as tables_of_file
from restow.text import counted

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")

IN_WORDS = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a finite number",
    PassthroughTable: "a table",
    SortedMapping: "a table of texts, numbers, true and false",
}

Table = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value is: file, table and key."""

    file: str
    environment: Mapping[str, str]
    table: str = ""
    key: str = ""

    def __str__(self) -> str:
        return " ".join(part for part in (f"{self.file}:", self.table and f"[{self.table}]", self.key) if part)

    def wrong(self, value: object, wanted: str) -> InvalidInput:
        shown = REDACTED if is_secret(self.key) else _as_toml(value)
        return InvalidInput(f"{self} = {shown} can't be used; it must be {wanted}")

    def of(self, table: str) -> "Place":
        return Place(self.file, self.environment, f"{self.table}.{table}" if self.table else table)

    def at(self, key: str) -> "Place":
        return Place(self.file, self.environment, self.table, key)


class InvalidSettings(InvalidInput):
    """All errors of a file, in its order. Its own message is the first of them."""

    def __init__(self, errors: Sequence[str]) -> None:
        more = len(errors) - 1
        super().__init__(
            errors[0] + (f" (and {counted(more, 'more error')}: `restow check` lists all)" if more else "")
        )
        self.errors = tuple(errors)


class Findings:
    """Collects the errors of a file. As a context it collects what is raised inside, so that reading continues."""

    def __init__(self) -> None:
        self._errors: list[str] = []

    def add(self, error: InvalidInput) -> None:
        self._errors += error.errors if isinstance(error, InvalidSettings) else [str(error)]

    def raise_if_any(self) -> None:
        if self._errors:
            raise InvalidSettings(self._errors)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, InvalidInput):
            self.add(error)
            return True
        return False


def read_settings(text: str, file: str, environment: Mapping[str, str]) -> Settings:
    """`file` is named in error messages. `${NAME}` in a value is replaced by that variable of `environment`."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidSettings([f"{file}: this is not TOML: {error}"]) from None
    known, hints = tables_of_file(), get_type_hints(Settings, include_extras=True)
    found, place = Findings(), Place(file, environment)
    for name, table in tables.items():
        if name not in known:
            found.add(InvalidInput(f"{file}: there is no table [{name}]; {_nearest(name, known)}"))
        elif _is_repeated(hints[name]) and not _are_tables(table):
            found.add(InvalidInput(f"{file}: {name} can't be used; it must be tables of their own, [[{name}]]"))
        elif not _is_repeated(hints[name]) and not isinstance(table, dict):
            words = f"{file}: {name} = {_as_toml(table)} can't be used; it must be a table, [{name}]"
            found.add(InvalidInput(words))
    values: dict[str, Any] = {}
    for name, setting in known.items():
        # A required table that is missing is read as an empty one, so that the error names the missing key.
        table = tables.get(name, {} if _is_required(setting) else None)
        if _is_repeated(hints[name]) and _are_tables(table):
            with found:
                values[name] = _read_tables(hints[name], table, place.of(f"[{name}]"))
        elif isinstance(table, dict) and not _is_repeated(hints[name]):
            with found:
                values[name] = _read_table(hints[name], table, place.of(name))
    found.raise_if_any()
    return Settings(**values)


def _read_table(hint: Any, table: Table, place: Place) -> Any:
    """One table, or tables by name like [consume.orders] and [consume.clicks]."""
    if get_origin(hint) is not SortedMapping:
        return _read_dataclass(hint, table, place)
    key, kind = get_args(hint)
    found = Findings()
    values: dict[str, Any] = {}
    for name, inner in table.items():
        with found:
            _read(key, name, place)
            if not isinstance(inner, dict):
                raise place.at(name).wrong(inner, f"a table, [{place.table}.{name}]")
            values[name] = _read_dataclass(kind, inner, place.of(name))
    found.raise_if_any()
    return SortedMapping(values)


def _is_repeated(hint: Any) -> bool:
    """Whether the table may occur several times, as [[schedule]]."""
    return get_origin(hint) is tuple


def _are_tables(value: Any) -> TypeGuard[list[Table]]:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def _read_tables(hint: Any, tables: Sequence[Table], place: Place) -> tuple[Any, ...]:
    kind, found, made = get_args(hint)[0], Findings(), []
    for table in tables:
        with found:
            made.append(_read_dataclass(kind, table, place))
    found.raise_if_any()
    return tuple(made)


def _read_dataclass(kind: type, table: Table, place: Place) -> Any:
    hints = {key_of(name): hint for name, hint in get_type_hints(kind, include_extras=True).items()}
    known = _by_name(kind)
    rest = next((name for name in known if hints[name] is ClientProperties), None)
    values: dict[str, Any] = {}
    found = Findings()
    if rest:
        known = {name: known[name] for name in known if name != rest}
        others = _flat({key: value for key, value in table.items() if key not in known})
        properties: dict[str, str | int | float | bool] = {}
        for key, value in others.items():
            with found:
                properties[key] = _property(value, place.at(key))
        values[rest] = ClientProperties(properties)
    for key, value in table.items():
        with found:
            if key in known:
                values[key] = _read(hints[key], value, place.at(key))
            elif not rest:
                raise InvalidInput(f"{place} there is no setting '{key}'; {_nearest(key, known)}")
    for name, setting in known.items():
        if name not in table and _is_required(setting):
            found.add(InvalidInput(f"{place.at(name)} is missing; {_advice(hints[name])}"))
    made = None
    if all(name in values or not (name in table or _is_required(setting)) for name, setting in known.items()):
        try:
            defaults = getattr(kind, "presets", {}).get(values.get("preset"), {})
            named = {known[key].name if key in known else key: value for key, value in values.items()}
            made = kind(**{**defaults, **named})
        except InvalidInput as error:  # the dataclass itself finds settings that contradict each other
            found.add(InvalidInput(f"{place} {error}"))
    found.raise_if_any()
    return made


def _read(hint: Any, value: Any, place: Place) -> Any:
    kind, checks = _unfold(hint)
    if kind is PassthroughTable and isinstance(value, dict):
        return PassthroughTable(
            {key: _passthrough_value(each, place.of(place.key).at(key)) for key, each in value.items()}
        )
    if get_origin(kind) is SortedMapping and isinstance(value, dict):
        return SortedMapping({key: _property(each, place.of(place.key).at(key)) for key, each in value.items()})
    if kind is str and isinstance(value, str):
        value = _expanded(value, place)
    elif kind is float and type(value) is int:
        value = float(value)
    elif get_origin(kind) is tuple and isinstance(value, list):
        item = get_args(kind)[0]
        return tuple(_read(item, each, place) for each in value)
    elif get_origin(kind) is not None or type(value) is not kind:
        raise place.wrong(value, wanted(hint))
    if (isinstance(value, float) and not math.isfinite(value)) or not all(check.holds(value) for check in checks):
        raise place.wrong(value, wanted(hint))
    return value


def _property(value: Any, place: Place) -> str | int | float | bool:
    if isinstance(value, str):
        return _expanded(value, place)
    if isinstance(value, bool | int | float):
        return value
    raise place.wrong(value, "text, a number, true or false")


def _passthrough_value(value: Any, place: Place) -> Any:
    if isinstance(value, dict):
        return {key: _passthrough_value(each, place.of(place.key).at(key)) for key, each in value.items()}
    if isinstance(value, list):
        return [_passthrough_value(each, place) for each in value]
    if isinstance(value, str):
        return _expanded(value, place)
    if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise place.wrong(value, "text, a finite number, true or false, a list or a table")


def _expanded(text: str, place: Place) -> str:
    """Replaces each ${NAME} by that environment variable, so that secrets stay out of the file."""

    def value_of(found: re.Match[str]) -> str:
        name = found[1]
        if name not in place.environment:
            raise InvalidInput(f"{place} needs the environment variable {name}, which is not set; set it")
        return place.environment[name]

    return VARIABLE.sub(value_of, text)


def _flat(table: Table, prefix: str = "") -> dict[str, Any]:
    """Dotted names: TOML reads a.b = 1 as a table in a table."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        found |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found


def _unfold(hint: Any) -> tuple[Any, tuple[Check, ...]]:
    """The type in a field's annotation, and its checks."""
    if get_origin(hint) is Annotated:
        kind, *extras = get_args(hint)
        return kind, tuple(extra for extra in extras if isinstance(extra, Check))
    if get_origin(hint) in (Union, UnionType):
        [present] = [part for part in get_args(hint) if part is not NoneType]
        return _unfold(present)
    return hint, ()


def wanted(hint: Any) -> str:
    """The valid values of a field, in words that follow "it must be"."""
    kind, checks = _unfold(hint)
    if get_origin(kind) is tuple:
        return f"a list, each element {wanted(get_args(kind)[0])}"
    words = [check.wanted for check in checks]
    kind = get_origin(kind) or kind
    return ", ".join(words if words and kind is str else [IN_WORDS[kind], *words])


def _advice(hint: Any) -> str:
    """What to write where a required setting is missing."""
    extras = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    own = [extra.advice for extra in extras if isinstance(extra, IfMissing)]
    return "; ".join([*own, f"it must be {wanted(hint)}"])


def _by_name(kind: type) -> "dict[str, Field[Any]]":
    assert is_dataclass(kind)
    return {key_of(setting.name): setting for setting in fields(kind)}


def key_of(name: str) -> str:
    """The key of a field: its name, without the underscore that makes a word of Python, like `for`, a name."""
    return name.rstrip("_")


def _is_required(setting: "Field[Any]") -> bool:
    return setting.default is MISSING and setting.default_factory is MISSING


def _nearest(name: str, known: Mapping[str, object]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean '{close[0]}'?" if close else f"known are {', '.join(sorted(known))}"


def _as_toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list):
        return f"[{', '.join(map(_as_toml, value))}]"
    return str(value)
