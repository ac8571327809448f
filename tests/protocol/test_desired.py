"""Desired state: what a record may say, and its times."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restow.errors import InvalidInput
from restow.model import ConsumerId, TopicPartition
from restow.protocol.checks import utc_s
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.messages.desired import ConsumerRestart, GroupPause, PartitionPin, RecommendOnly
from restow.protocol.messages.service import ServiceUpdate

ONE, A0, NOON = ConsumerId(1), TopicPartition("a", 0), "2026-03-01T12:00:00Z"
PIN_NEEDS = "until is needed with a consumer, and only then; it must be a time, or both null"


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: GroupPause(False, NOON), "until is set; it must be null unless paused is true"),
        (
            lambda: GroupPause(True, "14:00"),
            "until is '14:00'; it must be a time in UTC, like 2026-03-01T12:00:00Z",
        ),
        (lambda: RecommendOnly(True, at="now"), "at is 'now'; it must be a time in UTC, like 2026-03-01T12:00:00Z"),
        (lambda: RecommendOnly(True, "x" * 301), "by has 301 characters; it must have at most 300"),
        (
            lambda: GroupPause(True, reason="two\nlines"),
            "reason has characters that can't be printed; it must be text on one line",
        ),
        (lambda: ServiceUpdate("remove", "a", reason="x" * 301), "reason has 301 characters; it must have at most 300"),
        (lambda: ConsumerRestart(ConsumerId(0), 1), "consumer is 0; it must be 1 or more"),
        (lambda: ConsumerRestart(ONE, -1), "up_to is -1; it must be 0 or more"),
        (lambda: PartitionPin(A0, ONE), PIN_NEEDS),
        (lambda: PartitionPin(A0, None, NOON), PIN_NEEDS),
        (lambda: PartitionPin(A0, ConsumerId(0), NOON), "consumer is 0; it must be 1 or more"),
        (lambda: ConsumerSettings(least_consumers=-1), "least_consumers is -1; it must be 0 or more"),
        (lambda: ConsumerSettings(most_consumers=0), "most_consumers is 0; it must be 1 or more"),
        (
            lambda: ConsumerSettings(least_consumers=3, most_consumers=2),
            "most_consumers is 2; it must be least_consumers (3) or more",
        ),
    ],
)
def test_an_invalid_record_is_rejected(made: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        made()
    assert str(refused.value) == message


def test_the_limits_of_the_group_change_no_process() -> None:
    assert ConsumerSettings(least_consumers=1, most_consumers=9).fingerprint == ConsumerSettings().fingerprint


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_time_is_as_many_seconds_after_1970_as_the_calendar_says(moment: datetime) -> None:
    text = moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
    assert utc_s(text) == pytest.approx(moment.timestamp(), abs=1e-4)
