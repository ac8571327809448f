"""What the page's actions ask for, and which requests they refuse."""

import asyncio
from typing import Any

import pytest
from starlette.requests import Request
from starlette.types import Message

from restow.clock import as_iso
from restow.errors import InvalidInput
from restow.page.actions import ACTIONS, MOST_BYTES, body_of
from restow.protocol.messages.desired import GroupPause, RecommendOnly

NOON = 1_772_366_400.0
AT = as_iso(NOON)


def wanted(action: str, **body: Any) -> GroupPause | RecommendOnly:
    return ACTIONS[action](body, "page@host-7", NOON)


def test_a_pause_lasts_for_a_time_until_a_time_or_until_it_is_resumed() -> None:
    one_hour = GroupPause(True, as_iso(NOON + 3600), "page@host-7", AT, "upgrade")
    assert wanted("pause", for_s=3600, reason="upgrade") == one_hour
    assert wanted("pause", until=as_iso(NOON + 3600), reason=" upgrade ") == one_hour
    assert wanted("pause") == GroupPause(True, None, "page@host-7", AT)
    assert wanted("resume", reason="done") == GroupPause(False, None, "page@host-7", AT, "done")


def test_recommend_is_on_or_off() -> None:
    assert wanted("recommend", on=True, reason="a trial") == RecommendOnly(True, "page@host-7", AT, "a trial")
    assert wanted("recommend", on=False) == RecommendOnly(False, "page@host-7", AT)


@pytest.mark.parametrize(
    ("action", "body", "words"),
    [
        ("pause", {"for_s": 60, "until": as_iso(NOON + 60)}, "both"),
        ("pause", {"for_s": 0}, "for_s is 0"),
        ("pause", {"for_s": True}, "for_s is True"),
        ("pause", {"for_s": 1e99}, "for_s is 1e"),
        ("pause", {"for_s": "2h"}, "for_s is '2h'"),
        ("pause", {"until": as_iso(NOON - 1)}, "in the future"),
        ("pause", {"until": "later"}, "'later' is not a time"),
        ("pause", {"until": 5}, "in the future"),
        ("pause", {"reason": 5}, "reason must be text"),
        ("pause", {"reason": "two\nlines"}, "reason"),
        ("pause", {"reason": "x" * 5000}, "reason has 5000 characters"),
        ("pause", {"forever": True}, "'forever' is unknown"),
        ("resume", {"until": None}, "'until' is unknown"),
        ("recommend", {}, "on is None"),
        ("recommend", {"on": "yes"}, "on is 'yes'"),
    ],
)
def test_a_wrong_request_is_refused_in_words(action: str, body: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        wanted(action, **body)


def read(*pieces: bytes) -> Any:
    left = list(pieces)

    async def receive() -> Message:
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    return asyncio.run(body_of(Request({"type": "http", "headers": []}, receive)))


def test_a_body_is_one_json_object_of_bounded_size() -> None:
    assert read(b'{"rea', b'son": "x"}') == {"reason": "x"}
    assert read(b"") == {}
    for body in (b"[]", b"{", b'"x"', b"\xff", b"[" * 9000):
        with pytest.raises(InvalidInput, match="JSON"):
            read(body)
    with pytest.raises(InvalidInput, match="more than"):
        read(b" " * MOST_BYTES, b" ", b"never read")
