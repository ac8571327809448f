"""Margins: contradicting ones are refused, and missing ones follow from the others."""

import math

import pytest

from restow.errors import InvalidInput
from restow.packing import Margins

ORDER = "none of trigger, evict_to, fill_to, drain_to may be above the one before it"


@pytest.mark.parametrize("shares", [(1.0, 1.0, 1.0, 1.0), (0.95, 0.85, 0.85, 0.75), (1.2, 1.1, 1.0, 0.9)])
def test_each_margin_may_be_as_high_as_the_one_before_it(shares: tuple[float, float, float, float]) -> None:
    margins = Margins(*shares)
    assert (margins.trigger, margins.evict_to, margins.fill_to, margins.drain_to) == shares


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ((1.0, 1.1, 1.0, 1.0), "the margin evict_to is 1.1, above the trigger 1.0; it must not be"),
        ((1.0, 0.8, 0.9, 0.7), f"the margin fill_to is 0.9, above evict_to 0.8; {ORDER}"),
        ((1.0, 0.9, 0.7, 0.8), f"the margin drain_to is 0.8, above fill_to 0.7; {ORDER}"),
        ((1.0, 0.9, 0.0, 0.0), "the margin fill_to is 0.0; it must be a share of the capacity above 0"),
        ((math.nan, 1.0, 1.0, 1.0), "the margin trigger is nan; it must be a share of the capacity above 0"),
    ],
)
def test_margins_that_make_no_sense_are_refused(shares: tuple[float, ...], message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Margins(*shares)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("given", "all_four"),
    [
        ({}, Margins()),
        ({"trigger": 1.2}, Margins(1.2, 1.0, 1.0, 1.0)),
        ({"trigger": 0.8}, Margins(0.8, 0.8, 0.8, 0.8)),
        ({"fill_to": 0.7}, Margins(1.0, 1.0, 0.7, 0.7)),
        ({"evict_to": 0.8, "drain_to": 0.6}, Margins(1.0, 0.8, 0.8, 0.6)),
        ({"trigger": 1.3, "fill_to": 1.1}, Margins(1.3, 1.1, 1.1, 1.0)),
    ],
)
def test_a_margin_that_is_left_out_is_1_or_as_near_to_that_as_the_others_allow(
    given: dict[str, float], all_four: Margins
) -> None:
    assert Margins.given(given) == all_four
