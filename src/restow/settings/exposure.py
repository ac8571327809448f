"""Finds secrets written into restow.toml, which goes into a ConfigMap that many may read.

A secret belongs into an environment variable, `"sasl.password" = "${KAFKA_PASSWORD}"`, which each process resolves for
itself. `restow manifests` checks the file before it prints it.
"""

import re
import tomllib
from collections.abc import Iterator
from typing import Any, Final

from restow.errors import InvalidInput
from restow.settings.properties import is_secret
from restow.settings.reader import VARIABLE

PROPERTIES: Final = ("kafka", "spark", "registry")
"""Tables with properties of clients, secrets among them."""

NAMES_A_THING: Final = re.compile(r"\.(class|location|provider|url)$")
"""`spark.hadoop.fs.s3a.aws.credentials.provider` names the holder of a secret and is not one itself."""


def variables(text: str) -> tuple[str, ...]:
    """The environment variables that the file refers to, sorted."""
    return tuple(sorted({name for value in _texts(tomllib.loads(text)) for name in VARIABLE.findall(value)}))


def check_no_secret(text: str, file: str) -> None:
    """Raises InvalidInput for the first secret whose value is in the file."""
    tables = tomllib.loads(text)
    for table in PROPERTIES:
        for name, value in _flat(tables.get(table, {})):
            if is_written_out(name, value):
                raise _written_out(f"{file}: [{table}] {name}", as_variable(name))
    pod = tables.get("kubernetes", {}).get("pod", {})
    for name, value in _environment(pod):
        if is_secret(name) and value:
            raise InvalidInput(
                f"{file}: [kubernetes.pod] has a value for {name}, which anyone who may see pods could read; take it "
                f'from a Secret: {{ name = "{name}", valueFrom = {{ secretKeyRef = {{ name = "…", key = "…" }} }} }}'
            )
    for value in _texts(pod):
        if found := VARIABLE.search(value):
            raise InvalidInput(
                f"{file}: [kubernetes.pod] refers to {found[0]}, whose value anyone who may see pods could read; write "
                "the value itself if it is not secret, or take it from a Secret with valueFrom"
            )


def _written_out(place: str, variable: str) -> InvalidInput:
    return InvalidInput(
        f"{place} has its value in the file, which anyone who may see the ConfigMap could read; write "
        f'"${{{variable}}}", and give pods that variable from a Secret, as docs/kubernetes.md shows'
    )


def is_written_out(name: str, value: str) -> bool:
    """Whether this property of Kafka or Spark is a secret that is no reference to a variable."""
    return bool(is_secret(name) and not NAMES_A_THING.search(name) and value and not VARIABLE.search(value))


def as_variable(name: str) -> str:
    """The environment variable to take a property from: SASL_PASSWORD for sasl.password."""
    return re.sub(r"\W", "_", name).upper()


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Each text in a table with its dotted name: TOML reads a.b = "c" as a table in a table."""
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
    """The environment variables of all containers, with their values."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _environment(inner)
    if isinstance(value, dict) and isinstance(value.get("name"), str) and isinstance(value.get("value"), str):
        yield value["name"], value["value"]
