"""Objects of an object store, as the files of a table. Loaded only for tables in one.

delta-rs has no public way to read and write files without pyarrow, and its private one holds Python's global lock while
it waits for a store: a store that hangs would silence the whole consumer. obstore releases the lock.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Final

from obstore.exceptions import AlreadyExistsError, BaseError, NotSupportedError
from obstore.store import ObjectStore, from_url

from restow.pipeline.delta.errors import one_line
from restow.pipeline.delta.stores import MOST_RETRIES, RETRY_WITHIN_S

PARTS_AT_ONCE: Final = 4
"""Of 5 MB each, of a file that is larger."""
PROBES: Final = "_restow"
"""The directory of probes below a table's root. Readers and vacuum skip names with an underscore."""
NOT_IMPLEMENTED: Final = "501 Not Implemented"


class StoredFiles:
    """Implements TableFiles. A directory is what the names of several objects begin with."""

    def __init__(self, uri: str) -> None:
        self._store = _opened(uri)

    def read(self, path: str) -> bytes:
        with _as_os_errors():
            return bytes(self._store.get(path).bytes())

    def fetch(self, path: str, to: Path) -> None:
        with _as_os_errors(), to.open("wb") as file:
            for chunk in self._store.get(path):
                file.write(chunk)

    def upload(self, file: Path, path: str) -> None:
        with _as_os_errors():
            self._store.put(path, file, max_concurrency=PARTS_AT_ONCE)

    def delete(self, path: str) -> None:
        with _as_os_errors():
            self._store.delete(path)

    def delete_directory(self, path: str) -> None:
        with _as_os_errors():
            for found in self._store.list(f"{path}/"):
                self._store.delete([each["path"] for each in found])


def refuses_second_put(uri: str) -> bool:
    """Whether the store refuses to create an object that exists. The object is deleted. Raises OSError if the store
    doesn't answer, or refuses for another reason."""
    with _as_os_errors():
        store, path = _opened(uri), f"{PROBES}/{uuid.uuid4().hex}"
        try:
            store.put(path, b"1", mode="overwrite")
            store.put(path, b"2", mode="create")
        except AlreadyExistsError:
            return True
        except NotSupportedError:
            return False
        except BaseError as error:
            if NOT_IMPLEMENTED in str(error):
                return False
            raise
        finally:
            with suppress(BaseError, OSError):  # a store that can't be written has no probe
                store.delete(path)
        return False


def _opened(uri: str) -> ObjectStore:
    """Asks the store for nothing yet."""
    with _as_os_errors():
        return from_url(
            uri, retry_config={"max_retries": MOST_RETRIES, "retry_timeout": timedelta(seconds=RETRY_WITHIN_S)}
        )


@contextmanager
def _as_os_errors() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(one_line(error)) from None
    except BaseError as error:
        raise OSError(one_line(error)) from None
