"""Bad records that consumers leave out of tables are counted, and flag their topic for a while."""

from tests.support.controller_driver import Driver

from restow.controller.left_out import FLAGGED_FOR_S
from restow.protocol.messages.reports import Rejected

FLAG = "rejected a"


def test_bad_records_raise_a_flag_once_and_are_counted(pair: Driver) -> None:
    assert pair.reports(1, rejected=(Rejected("a", rejected=2),)) == ()
    assert pair.words == [
        "consumer 1: left out of the table of a: 2 records rejected",
        f"{FLAG}: bad records are left out of its table; see `restow rejected list --topic a`",
    ]
    assert pair.reports(2, rejected=(Rejected("a", 1, 4),)) == ()
    assert pair.words == ["consumer 2: left out of the table of a: 1 record rejected, 4 records skipped"]
    counts = pair.state.left_out["a"]
    assert (counts.rejected, counts.skipped, list(pair.flags)) == (3, 4, [FLAG])


def test_the_flag_ends_by_itself_and_the_counts_stay(pair: Driver) -> None:
    pair.reports(1, rejected=(Rejected("a", rejected=2),))
    pair.waits(FLAGGED_FOR_S)
    assert list(pair.flags) == [FLAG]
    pair.waits(30)
    assert (pair.flags, pair.state.left_out["a"].rejected) == ({}, 2)
