"""What goes wrong with schemas."""

from restow.errors import RestowError
from restow.pipeline.transforms import TransformError


class SchemaError(TransformError):
    """The schema can't be used. A person has to correct it."""


class NewSchema(RestowError):
    """A cycle found a schema id that wasn't known. It is known now, and the cycle can be run again."""

    def __init__(self, subject: str, number: int) -> None:
        super().__init__(f"records of {subject} have a schema that was not known before, {number}")


class RegistryUnavailable(RestowError):
    """The registry doesn't answer, or not as it should. It may later."""
