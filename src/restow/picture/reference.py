"""Generates docs/picture.md: what the status topic and `restow status --json` contain.

Names, types and defaults come from the dataclasses, descriptions from their docstrings. `make docs` (scripts/docs.py)
writes the page; a test fails if it is out of date.
"""

from collections.abc import Iterable
from dataclasses import MISSING, fields
from typing import Any, Final, get_type_hints

from restow.picture.picture import (
    ConsumerStatus,
    Decision,
    Lag,
    LeftOutRecords,
    Limits,
    Overview,
    PartitionStatus,
    Paused,
    Pin,
    RaisedFlag,
    Recommending,
    ServiceAnswer,
)
from restow.protocol.codec import form_of
from restow.protocol.pages import Docs, docs_of, table

PARTS: Final[tuple[type, ...]] = (
    *(Overview, ConsumerStatus, PartitionStatus, Lag, Decision, RaisedFlag, Limits, LeftOutRecords),
    *(Paused, Recommending, Pin, ServiceAnswer),
)

INTRODUCTION: Final = """\
# The group's picture

*Generated from the code by `make docs`; don't edit it.*

The controller publishes what it knows and does to `<prefix>-status`, partition 0. `restow status` and `restow top` read
nothing else, so that they work wherever Kafka can be reached, and so can your own tools: the records are JSON,
compressed with zstd.

A whole picture comes every ten seconds, in parts of at most 500 kB with the keys `whole-0`, `whole-1` and so on.
Between two of them a change comes at once, but at most one a second, with the key `change`. Every record has `version`,
`epoch` (of the controller) and `picture` (its number); a part has `part` and `parts`, a change has its number in
`change`. All may have

- `overview`: an [Overview](#overview), in part 0 and in every change;
- `consumers`: a [ConsumerStatus](#consumerstatus) for each consumer's number;
- `topics`: a [PartitionStatus](#partitionstatus) for each partition, by topic and number: `{"orders": {"0": {…}}}`.

A picture is complete when all its parts are there. A change has everything that moved since its picture's whole, and
null for what is gone: the newest whole and the newest change of the same `epoch` and `picture` are all that a reader
needs. Speeds, lags and ages are those of the whole. A record of an older epoch is of a controller that was replaced.

The topic is compacted after a day: the newest picture is always there, and a day of history before it. A picture that
is older than 30 s is an outage: no controller runs, or it does not reach Kafka.

What the controller pays for its picture, as `bench/picture.py` measured it on an idle machine with two cores (busy:
something changes every second; compression is not counted):

| partitions | a whole picture | a measurement | of a core, quiet | of a core, busy |
|---|---|---|---|---|
| 1,000 | 21 ms, 101 kB | 0.3 ms | 0.2 % | 0.5 % |
| 10,000 | 229 ms, 1,018 kB | 2.7 ms | 2.6 % | 4.8 % |
| 50,000 | 1327 ms, 5,127 kB | 15.2 ms | 14.8 % | 30.1 % |

`restow status --json` prints the same as one object, with `age_s` and `outage` beside it; `restow status --from FILE`
and `restow explain --from FILE` look at such an object in a file, also at one of `restow simulate --picture FILE`.

Times are UTC, ISO 8601. A field that has its default may be missing. Readers ignore unknown fields.
"""


def page(sources: Iterable[str]) -> str:
    """`sources` are the texts of the modules that define the picture."""
    docs = {name: doc for source in sources for name, doc in docs_of(source)}
    blocks = [INTRODUCTION]
    for part in PARTS:
        blocks += [f"## {part.__name__}\n\n{docs[part.__name__].text}\n", _fields(part, docs[part.__name__])]
    return "\n".join(blocks)


def _fields(kind: Any, docs: Docs) -> str:
    hints = get_type_hints(kind)
    rows = []
    for field in fields(kind):
        words = form_of(hints[field.name]).words
        for part in PARTS:
            words = words.replace(f"a {part.__name__}", f"a [{part.__name__}](#{part.__name__.lower()})")
        is_optional = field.default is not MISSING or field.default_factory is not MISSING
        rows.append((f"`{field.name}`", words + ("; optional" if is_optional else ""), docs.of_field[field.name]))
    return table(("field", "type", "meaning"), rows)
