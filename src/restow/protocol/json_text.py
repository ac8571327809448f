"""Plain JSON to bytes and back, for messages, event logs and checkpoints.

The parser is strict: it rejects duplicate keys, NaN and invalid UTF-8. It raises nothing but InvalidInput, whatever the
bytes are.
"""

import json
from collections import Counter
from typing import Any, Final

from restow.errors import InvalidInput


def as_json(plain: object) -> bytes:
    """One line. A character that UTF-8 can't encode, as in a broken file name, becomes a question mark."""
    return _ENCODER.encode(plain).encode(errors="replace")


def parse_json(content: bytes) -> Any:
    try:
        return _DECODER.decode(content.decode())
    except UnicodeDecodeError as error:
        raise InvalidInput(f"byte {error.start} is not UTF-8; it must be JSON in UTF-8") from None
    except json.JSONDecodeError as error:
        raise InvalidInput(f"character {error.pos} is not JSON ({error.msg.lower()})") from None
    except RecursionError:
        raise InvalidInput("the JSON is nested too deeply to be read") from None
    except ValueError:  # Python parses integers of at most a few thousand digits
        raise InvalidInput("the JSON holds a number that is too long to be read") from None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        repeated, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise InvalidInput(f"the JSON has {repeated!r:.60} twice in one object; it must be there once")
    return entries


def _constant(name: str) -> object:
    raise InvalidInput(f"the JSON holds {name}; numbers must be finite")


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_DECODER: Final = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)
