"""What of restow.toml others may come to see: a file that goes into a ConfigMap must have no secret written out in it.

A secret is a reference to the environment, `"sasl.password" = "${KAFKA_PASSWORD}"`, which each process resolves for
itself. `restow manifests` asks here before it prints the file.
"""

import re
import tomllib
from collections.abc import Iterator
from typing import Any, Final

from restow.errors import InvalidInput
from restow.settings.properties import is_secret
from restow.settings.reader import VARIABLE

PROPERTIES: Final = ("kafka", "spark")
"""Tables whose keys are properties of other programs, secrets among them."""

NAMES_A_THING: Final = re.compile(r"\.(class|location|provider|url)$")
"""`spark.hadoop.fs.s3a.aws.credentials.provider` says who has the secret, and is none."""


def variables(text: str) -> tuple[str, ...]:
    """The names that the file refers to, sorted."""
    return tuple(sorted({name for value in _texts(tomllib.loads(text)) for name in VARIABLE.findall(value)}))


def check_no_secret(text: str, file: str) -> None:
    """Raises InvalidInput for the first that is written out."""
    tables = tomllib.loads(text)
    for table in PROPERTIES:
        for name, value in _flat(tables.get(table, {})):
            if is_secret(name) and not NAMES_A_THING.search(name) and value and not VARIABLE.search(value):
                raise _written_out(f"{file}: [{table}] {name}", _as_variable(name))
    pod = tables.get("kubernetes", {}).get("pod", {})
    for name, value in _environment(pod):
        if is_secret(name) and value:
            raise InvalidInput(
                f"{file}: [kubernetes.pod] gives {name} a value, which all who may see pods could read; take it from a "
                f'Secret: {{ name = "{name}", valueFrom = {{ secretKeyRef = {{ name = "…", key = "…" }} }} }}'
            )
    for value in _texts(pod):
        if found := VARIABLE.search(value):
            raise InvalidInput(
                f"{file}: [kubernetes.pod] refers to {found[0]}, whose value all who may see pods could read; write "
                "what is no secret out, and take a secret from a Secret, with valueFrom"
            )


def _written_out(place: str, variable: str) -> InvalidInput:
    return InvalidInput(
        f"{place} is written out, which all who may see the ConfigMap could read; write "
        f'"${{{variable}}}", and give pods that variable from a Secret, as docs/kubernetes.md shows'
    )


def _as_variable(name: str) -> str:
    return re.sub(r"\W", "_", name).upper()


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """The texts in a table, by their names as one: TOML reads a.b = "c" as a table in a table."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}" if name else key)
    elif isinstance(value, str):
        yield name, value


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def _environment(value: Any) -> Iterator[tuple[str, str]]:
    """Variables with their values, in whatever container."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _environment(inner)
    if isinstance(value, dict) and isinstance(value.get("name"), str) and isinstance(value.get("value"), str):
        yield value["name"], value["value"]
