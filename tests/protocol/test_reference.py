"""docs/protocol.md is up to date with the code."""

import inspect
import json
import re

from tests.support.paths import ROOT

from restow.protocol import measurement, reference
from restow.protocol.examples import IN_VERSION_2, IN_VERSION_3, MEASUREMENT
from restow.protocol.versions import MESSAGES

PAGE = ROOT / "docs" / "protocol.md"
WRITTEN = reference.page(map(inspect.getsource, reference.kinds()))


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == WRITTEN, "docs/protocol.md is old; write it anew with: make docs"


def test_the_page_has_every_message_and_an_example_that_is_read_as_one() -> None:
    headings = re.findall(r"^### (\w+)$", WRITTEN, re.MULTILINE)
    parts = [part.__name__ for part in reference.PARTS]
    assert sorted(headings) == sorted([kind.__name__ for kind in MESSAGES] + parts + ["Measurement"])
    examples = [json.loads(text) for text in re.findall(r"^```json\n(.*?)^```$", WRITTEN, re.MULTILINE | re.DOTALL)]
    types = [example.get("type", "Measurement") for example in examples]
    more = ["Measurement", "ServiceUpdate", *(type(message).__name__ for message in (*IN_VERSION_2, *IN_VERSION_3))]
    assert sorted(types) == sorted([kind.__name__ for kind in MESSAGES] + more)


def test_every_field_has_a_meaning() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*) \|$", WRITTEN, re.MULTILINE)
    assert len(rows) > 60
    assert [name for name, words, meaning in rows if not words or not meaning.endswith(".")] == []


def test_the_fields_of_a_measurement_are_those_that_are_sent() -> None:
    [section] = re.findall(r"^### Measurement$.*?^```json", WRITTEN, re.MULTILINE | re.DOTALL)
    sent = json.loads(measurement.encode(MEASUREMENT))
    of_partition = sent["topics"]["orders"]["1"]
    assert re.findall(r"^\| `(\w+)` ", section, re.MULTILINE) == [*list(sent)[1:], *of_partition]
