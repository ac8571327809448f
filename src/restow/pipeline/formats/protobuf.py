"""The Protobuf parser: Spark has no function of its own for it, so that Python workers decode batches of values.

A schema is a .proto file, which is compiled, or a descriptor set (`protoc --include_imports --descriptor_set_out`).
Values are decoded by the newest schema: Protobuf reads older and newer values with it. protobuf_fields.py has the
columns.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Final

import pyspark.sql.functions
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import DecodeError, Message
from pyspark.sql import Column
from pyspark.sql import functions as sql

from restow.pipeline.formats.errors import SchemaError
from restow.pipeline.formats.frames import PARSED, Parser
from restow.pipeline.formats.framing import HEAD_BYTES
from restow.pipeline.formats.json_schema import check_names
from restow.pipeline.formats.protobuf_fields import LeftOut, fields_of
from restow.starter.types import quoted

MAIN: Final = "schema.proto"
WRONG: Final = "_restow_error"
"""The field of the struct that says why a value doesn't parse."""
NO_PROTOBUF: Final = "it is not a Protobuf message that fits the schema"


def compiled(text: str, where: str, imports: Mapping[str, str]) -> bytes:
    """The descriptor set of a .proto file, and of all that it imports. Raises SchemaError."""
    with tempfile.TemporaryDirectory(prefix="restow-proto-") as directory:
        for name, each in {**imports, MAIN: text}.items():
            file = Path(directory, name)
            if not file.resolve().is_relative_to(Path(directory).resolve()):
                raise SchemaError(f"{where} imports {name}, which is no path within its directory")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(each)
        known, out = resources.files("grpc_tools") / "_proto", Path(directory, "out.desc")
        options = (f"-I{directory}", f"-I{known}", "--include_imports", f"--descriptor_set_out={out}")
        # In a process of its own: the compiler prints its errors.
        command = (sys.executable, "-m", "grpc_tools.protoc", *options, MAIN)
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode:
            reason = next(iter(answer.stderr.strip().splitlines()), "protoc said nothing")
            raise SchemaError(f"{where} can't be compiled: {reason.replace(f'{directory}/', '')}")
        return out.read_bytes()


def in_directory(directory: Path) -> dict[str, str]:
    """The .proto files of a directory and below, by their paths in it."""
    return {str(file.relative_to(directory)): file.read_text() for file in sorted(directory.rglob("*.proto"))}


def protobuf_parser(descriptors: bytes, message: str, where: str, head: Column | None = None) -> Parser:
    """`descriptors` is a descriptor set; `message` is empty for the first one of its last file. `head` is the error of
    a framed value's head; None if values aren't framed. Raises SchemaError."""
    decoder = Decoder(descriptors, message, where, is_framed=head is not None)
    columns = decoder.columns
    ddl = ", ".join(f"{quoted(name)}: {kind}" for name, kind in columns.items())
    value = sql.col("value") if head is None else sql.when(head.isNull(), sql.col("value"))
    struct = _decode(decoder, f"struct<{ddl}, {WRONG}: string>")(value)
    error = sql.col(PARSED)[WRONG]
    return Parser(struct, {name: name for name in columns}, error if head is None else sql.coalesce(head, error))


def _decode(decoder: "Decoder", ddl: str) -> Callable[[Column], Column]:
    import pyarrow as pa  # noqa: PLC0415  a large library, which only this format needs
    from pyspark.sql.pandas.types import to_arrow_type  # noqa: PLC0415  it imports the same
    from pyspark.sql.types import _parse_datatype_string  # noqa: PLC0415

    def decode(values: pa.Array) -> pa.Array:
        return decoder.decoded(values)

    decoder.arrow = to_arrow_type(_parse_datatype_string(ddl))
    arrow_udf: Any = pyspark.sql.functions.arrow_udf  # type: ignore[attr-defined]  # PySpark's stubs lack it
    udf: Callable[[Column], Column] = arrow_udf(decode, ddl)
    return udf


class Decoder:
    """Values -> structs. It travels to Python workers by its descriptors, and finds the message's class there."""

    def __init__(self, descriptors: bytes, message: str, where: str, *, is_framed: bool) -> None:
        self._state = (descriptors, message, where, is_framed)
        self.arrow: Any = None
        """Arrow's type of the structs. Only a process with a session can make it of Spark's."""
        files = _files(descriptors, where)
        pool = descriptor_pool.DescriptorPool()
        for file in files:
            pool.Add(file)
        self._descriptor = _message(pool, files[-1], message, where)
        self._path = _path(self._descriptor) if is_framed else None
        try:
            self._types, self._readers = fields_of(self._descriptor, ())
        except LeftOut:
            raise SchemaError(f"{where}: the message {self._descriptor.full_name} has no fields") from None
        check_names(iter(self._types), where)
        self._new: Callable[[], Message] = message_factory.GetMessageClass(self._descriptor)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (*self._state, self.arrow)

    @property
    def columns(self) -> Mapping[str, str]:
        """The types of the fields, in Spark's DDL."""
        return self._types

    def decoded(self, values: Any) -> Any:
        """Arrow's array of values -> one of structs."""
        import pyarrow as pa  # noqa: PLC0415

        return pa.array([self.struct(value) for value in values.to_pylist()], type=self.arrow)

    def struct(self, value: bytes | None) -> dict[str, Any] | None:
        if value is None:
            return None
        message = self._new()
        try:
            if self._path is not None:
                path, start = _message_path(value)
                if path != self._path:
                    return {WRONG: f"it is message {list(path)} of its schema, and not {self._descriptor.full_name}"}
                value = value[start:]
            message.ParseFromString(value)
        except (DecodeError, IndexError):
            return {WRONG: NO_PROTOBUF}
        return {name: read(message) for name, read in self._readers.items()}


def _restored(descriptors: bytes, message: str, where: str, is_framed: bool, arrow: Any) -> Decoder:
    decoder = Decoder(descriptors, message, where, is_framed=is_framed)
    decoder.arrow = arrow
    return decoder


def _files(descriptors: bytes, where: str) -> list[Any]:
    found = descriptor_pb2.FileDescriptorSet()
    try:
        found.ParseFromString(descriptors)
    except DecodeError:
        raise SchemaError(f"{where} is not a descriptor set; make one with protoc --descriptor_set_out") from None
    if not found.file:
        raise SchemaError(f"{where} is an empty descriptor set; make one with protoc --include_imports")
    return list(found.file)


def _message(pool: Any, file: Any, message: str, where: str) -> Descriptor:
    try:
        if message:
            found: Descriptor = pool.FindMessageTypeByName(message)
            return found
        package = f"{file.package}." if file.package else ""
        first: Descriptor = pool.FindMessageTypeByName(f"{package}{file.message_type[0].name}")
        return first
    except (KeyError, IndexError, TypeError):
        raise SchemaError(f"{where} has no message {message}".rstrip() + "; write one of its messages") from None


def _path(descriptor: Descriptor) -> tuple[int, ...]:
    """The message's place in its file: its number, after those of the messages that it is in."""
    outer = descriptor.containing_type
    siblings = descriptor.file.message_types_by_name if outer is None else outer.nested_types_by_name
    number = list(siblings).index(descriptor.name)
    return (number,) if outer is None else (*_path(outer), number)


def _message_path(value: bytes) -> tuple[tuple[int, ...], int]:
    """The message's place as a framed value has it after the schema id, and where the message begins."""
    count, at = _number(value, HEAD_BYTES)
    if count == 0:
        return (0,), at
    path = []
    for _ in range(count):
        number, at = _number(value, at)
        path.append(number)
    return tuple(path), at


def _number(value: bytes, at: int) -> tuple[int, int]:
    """A number in zigzag encoding, and where the next byte is. Raises IndexError at the end of the value."""
    shift = found = 0
    while True:
        byte = value[at]
        at, found, shift = at + 1, found | (byte & 0x7F) << shift, shift + 7
        if not byte & 0x80:
            return (found >> 1) ^ -(found & 1), at
