"""Object stores: how a table in one is reached, and whether commits there can be trusted.

A table whose path is a URI, such as s3://lake/orders, is in an object store. Credentials, endpoint and region come from
the environment, for delta-rs, which commits, and for obstore, which reads and writes files (objects.py); both have the
same names for them. docs/object-stores.md has the details.
"""

import os
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from restow.pipeline.delta.errors import DeltaTableError

MOST_RETRIES: Final = 10
RETRY_WITHIN_S: Final = 10
"""Of a request that the store throttles, or that it doesn't answer. Both libraries would go on for 180 s, in which the
consumer could neither stop a partition nor say what is wrong. The cycle is retried with backoff anyway."""

SWITCHES: Final[Mapping[str, tuple[str, ...]]] = {
    "AWS_CONDITIONAL_PUT": ("etag",),
    "AWS_COPY_IF_NOT_EXISTS": (),
    "AWS_S3_ALLOW_UNSAFE_RENAME": ("false", "0"),
    "AWS_S3_LOCKING_PROVIDER": (),
}
"""Environment variables that make delta-rs commit in another way than by a conditional put, with the values that
don't."""

_checked: set[str] = set()
"""The stores that were found to be safe by this process."""


def is_remote(uri: str) -> bool:
    return "://" in uri


def options_of(uri: str) -> dict[str, str] | None:
    """delta-rs's storage options for a table."""
    return {"max_retries": str(MOST_RETRIES), "retry_timeout": f"{RETRY_WITHIN_S}s"} if is_remote(uri) else None


def refuse_unsafe(uri: str) -> None:
    """Creates an object twice and deletes it, once for each store and process. Raises DeltaTableError if the
    second creation is accepted; OSError if the store doesn't answer, or refuses for another reason."""
    store = f"{urlsplit(uri).scheme}://{urlsplit(uri).netloc}"
    if not is_remote(uri) or store in _checked:
        return
    for name, safe in SWITCHES.items():
        value = os.environ.get(name)
        if value is not None and value.lower() not in safe:
            raise DeltaTableError(
                f"the environment variable {name} = {value} makes commits to {store} unsafe; unset it: restow needs "
                "conditional puts"
            )
    from restow.pipeline.delta.objects import refuses_second_put  # noqa: PLC0415  it loads obstore

    if not refuses_second_put(uri):
        raise DeltaTableError(
            f"{store} accepted a second object of the same name where it must refuse it (a PUT with If-None-Match: *), "
            "so that two consumers could overwrite each other's commits; use a store that has conditional puts"
        )
    _checked.add(store)
