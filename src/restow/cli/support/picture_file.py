"""A picture in a file: what `restow status --json` prints, as `restow simulate --picture` writes it too."""

import argparse
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from restow.durable import write_atomically
from restow.errors import InvalidInput
from restow.picture.parts import picture_of, plain_picture
from restow.picture.picture import Picture
from restow.picture.publication import OUTAGE_AFTER_S

READABLE: Final = 0o644


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A picture and the moment at which it was looked at."""

    picture: Picture
    age_s: float

    @property
    def now(self) -> datetime:
        return datetime.fromisoformat(self.picture.overview.time) + timedelta(seconds=self.age_s)

    @property
    def is_outage(self) -> bool:
        return self.age_s > OUTAGE_AFTER_S

    def plain(self) -> dict[str, Any]:
        head = {"age_s": round(self.age_s, 3), "outage": self.is_outage}
        return {**head, **plain_picture(self.picture)}


def add_from(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from",
        dest="picture_file",
        type=Path,
        metavar="FILE",
        help="look at a picture in a file, of `restow status --json` or `restow simulate --picture`, without Kafka",
    )


def read_snapshot(file: Path) -> Snapshot:
    try:
        plain = json.loads(file.read_text(encoding="utf-8"))
        age_s = plain.get("age_s", 0.0) if isinstance(plain, dict) else 0.0
        if isinstance(age_s, bool) or not isinstance(age_s, int | float) or not 0 <= age_s < 1e12:
            raise InvalidInput(f"age_s is {age_s!r:.40}; it must be a number of seconds, 0 or more")
        picture = picture_of(plain)
        datetime.fromisoformat(picture.overview.time)
    except OSError as error:
        raise InvalidInput(f"{file} can't be read: {error.strerror}; name another file") from None
    except (ValueError, RecursionError, InvalidInput) as error:
        raise InvalidInput(f"{file} is no picture as `restow status --json` prints it: {error}") from None
    return Snapshot(picture, float(age_s))


def write_snapshot(file: Path, plain: dict[str, Any]) -> None:
    try:
        write_atomically(file, f"{json.dumps(plain, indent=2, allow_nan=False)}\n".encode(), READABLE)
    except OSError as error:
        raise InvalidInput(f"{file} can't be written: {error.strerror}; name another file") from None
