"""Schemas: finds the schema of a topic's values, in a file or a registry, and makes the parser of it.

A file is read once by a process, as modules of transforms are. Of a registry, each schema is fetched once; the newest
of the subject gives the columns, unless a file does. The Spark engine owns one `Schemas`, and uses it in its thread.
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from restow.java.jars import fetch
from restow.pipeline.formats.errors import SchemaError
from restow.pipeline.formats.frames import Parser
from restow.pipeline.formats.framing import head_error
from restow.pipeline.formats.json_schema import JsonColumn, check_names, columns_of
from restow.pipeline.formats.parsers import avro_parser, bytes_parser, framed_avro_parser, json_parser, text_parser
from restow.pipeline.formats.registry import RegisteredSchema, Registry
from restow.pipeline.spark.jars import AVRO
from restow.pipeline.targets import Parsing
from restow.settings import Settings

MOST_VERSIONS: Final = 50
"""Of a subject, known from the beginning. An older one is fetched when a record has its id."""
LOOK_AGAIN_AFTER_S: Final = 30.0
"""A registry that had no schema of an id is asked again: a replica of it may have been behind."""


class Subject:
    """What is known of the schemas of a subject."""

    def __init__(self, registry: Registry, parsing: Parsing, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._registry, self._parsing, self._monotonic = registry, parsing, monotonic
        self.writers: dict[int, RegisteredSchema] = {}
        self._bad: dict[int, tuple[float, str]] = {}
        self.newest = self._newest()
        for schema in registry.versions(parsing.subject, MOST_VERSIONS):
            self._take(schema)

    @property
    def bad(self) -> dict[int, str]:
        """Ids that no value can be parsed by, each with the reason."""
        since_s = self._monotonic() - LOOK_AGAIN_AFTER_S
        return {number: reason for number, (found_s, reason) in self._bad.items() if found_s >= since_s}

    def learn(self, number: int) -> None:
        """Asks for a schema that a record names, and for the newest one. Raises SchemaError, RegistryUnavailable."""
        schema = self._registry.by_id(number)
        if schema is None:
            self._bad[number] = (self._monotonic(), f"the registry has no schema {number}, which it names")
        else:
            self._take(schema)
        self.newest = self._newest()

    def imports(self) -> dict[str, str]:
        """The texts of the schemas that the newest one imports, by their names. Raises SchemaError,
        RegistryUnavailable."""
        found: dict[str, str] = {}
        wanted = list(self.newest.references)
        while wanted:
            reference = wanted.pop()
            if reference.name not in found:
                schema = self._registry.referred(reference)
                found[reference.name] = schema.text
                wanted += schema.references
        return found

    def _newest(self) -> RegisteredSchema:
        newest = self._registry.newest(self._parsing.subject)
        if newest.format != self._parsing.format:
            raise SchemaError(
                f"the newest schema of {self._parsing.subject} is {newest.format}, and format is "
                f'{self._parsing.format}; write format = "{newest.format}"'
            )
        self._take(newest)
        return newest

    def _take(self, schema: RegisteredSchema) -> None:
        if schema.format == self._parsing.format:
            self._bad.pop(schema.id, None)
            self.writers[schema.id] = schema
        else:
            reason = f"its schema, {schema.id}, is {schema.format}, and not {self._parsing.format}"
            self._bad[schema.id] = (self._monotonic(), reason)


class Schemas:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._files: dict[str, bytes] = {}
        self._subjects: dict[Parsing, Subject] = {}
        self._parsers: dict[Parsing, Parser] = {}
        self._thread = threading.local()

    def parser(self, parsing: Parsing) -> Parser:
        """Needs a Spark session. Raises SchemaError, RegistryUnavailable."""
        if parsing.format == "avro":
            self._add_avro()
        known = self._parsers.get(parsing)
        if known is None:
            known = self._made(parsing)
            if parsing not in self._subjects or not self._subjects[parsing].bad:  # else it has to be asked again
                self._parsers[parsing] = known
        return known

    def _made(self, parsing: Parsing) -> Parser:
        match parsing.format:
            case "text":
                return text_parser()
            case "bytes":
                return bytes_parser()
            case "json":
                return self._json(parsing)
            case "avro":
                return self._avro(parsing)
            case _:
                return self._protobuf(parsing)

    def learn(self, parsing: Parsing, number: int) -> None:
        """Asks the registry for a schema that a record names. Raises SchemaError, RegistryUnavailable."""
        self._subject(parsing).learn(number)
        self._parsers.pop(parsing, None)

    def _json(self, parsing: Parsing) -> Parser:
        subject = self._subject(parsing) if parsing.registry else None
        head = head_error(subject.writers, subject.bad) if subject else None
        if parsing.schema or subject is None:
            text = _decoded(self._file(parsing.schema), parsing.schema)
            if not parsing.schema.endswith(".json"):
                return json_parser(_ddl_columns(text, parsing.schema), head)
            return json_parser(columns_of(text, parsing.schema), head)
        newest = subject.newest
        return json_parser(columns_of(newest.text, f"schema {newest.id} of {parsing.subject}"), head)

    def _avro(self, parsing: Parsing) -> Parser:
        reader, where = _decoded(self._file(parsing.schema), parsing.schema) if parsing.schema else "", parsing.schema
        if not parsing.registry:
            return avro_parser(reader, where)
        subject = self._subject(parsing)
        if not reader:
            reader, where = subject.newest.text, f"schema {subject.newest.id} of {parsing.subject}"
        writers = {number: schema.text for number, schema in subject.writers.items()}
        return framed_avro_parser(reader, writers, subject.bad, where)

    def _protobuf(self, parsing: Parsing) -> Parser:
        from restow.pipeline.formats import protobuf  # noqa: PLC0415  its libraries are large, and few topics need them

        subject = self._subject(parsing) if parsing.registry else None
        head = head_error(subject.writers, subject.bad) if subject else None
        if parsing.schema or subject is None:
            content, where = self._file(parsing.schema), parsing.schema
            if where.endswith(".proto"):
                directory = Path(self._settings.located(where)).parent
                content = protobuf.compiled(_decoded(content, where), where, protobuf.in_directory(directory))
        else:
            where = f"schema {subject.newest.id} of {parsing.subject}"
            content = protobuf.compiled(subject.newest.text, where, subject.imports())
        return protobuf.protobuf_parser(content, parsing.message, where, head)

    def _add_avro(self) -> None:
        """To the session, and to the classes that this thread finds, which is once for each thread. Adding a jar that
        the session has does nothing more. Raises RestowError if it can't be fetched."""
        if getattr(self._thread, "has_avro", False):
            return
        session = SparkSession.getActiveSession()
        assert session is not None
        for jar in sorted(fetch(AVRO).glob("*.jar")):
            session.sql(f"ADD JAR '{jar}'")
        self._thread.has_avro = True

    def _file(self, path: str) -> bytes:
        if path not in self._files:
            file = Path(self._settings.located(path))
            try:
                self._files[path] = file.read_bytes()
            except OSError as error:
                hint = "; `restow check --infer` writes it from records" if path.endswith(".json") else ""
                raise SchemaError(f"the schema {file} can't be read: {error.strerror}{hint}") from None
        return self._files[path]

    def _subject(self, parsing: Parsing) -> Subject:
        if parsing not in self._subjects:
            self._subjects[parsing] = Subject(Registry(parsing.registry, self._settings), parsing)
        return self._subjects[parsing]


def _decoded(content: bytes, path: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise SchemaError(f"the schema {path} is not UTF-8 text") from None


def _ddl_columns(text: str, path: str) -> list[JsonColumn]:
    try:
        found = StructType.fromDDL(text)
        fields = found.fields if isinstance(found, StructType) else []
    except Exception as error:  # noqa: BLE001  Spark's parser raises several kinds
        raise SchemaError(f"the schema {path} is not Spark DDL: {str(error).strip().splitlines()[0]}") from None
    check_names((field.name for field in fields), path)
    return [JsonColumn(field.name, field.name, field.dataType.simpleString()) for field in fields]
