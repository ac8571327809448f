"""Counts the bad records that consumers leave out of tables, and flags topics of which some were left out lately.

Reports of consumers say so (`ConsumerReport.rejected`). A flag ends some time after the last of them: then only the
counts are left, and the dead-letter table.
"""

from typing import Final

from restow.controller.state import LeftOut
from restow.controller.transition import Transition
from restow.model import SortedMapping
from restow.protocol.messages.reports import ConsumerReport
from restow.text import counted

FLAGGED_FOR_S: Final = 600.0


def learn(transition: Transition, report: ConsumerReport) -> None:
    known = transition.state.left_out
    if not report.rejected and not known:
        return
    now_s, found = transition.state.time_s, dict(known)
    for each in report.rejected:
        before = found.get(each.topic, LeftOut())
        found[each.topic] = LeftOut(before.rejected + each.rejected, before.skipped + each.skipped, now_s)
        words = _words(each.rejected, each.skipped)
        transition.warn(report.consumer, f"left out of the table of {each.topic}: {words}")
    if report.rejected:
        transition.set(left_out=SortedMapping(found))
    for topic, left_out in found.items():
        if now_s - left_out.last_s > FLAGGED_FOR_S:
            transition.clear(left_out_flag(topic), "no more were left out for ten minutes")
        elif left_out_flag(topic) not in transition.state.flags:
            # Its words stay as they are: a topic with many bad records would fill the log.
            words = f"bad records are left out of its table; see `restow rejected list --topic {topic}`"
            transition.flag(left_out_flag(topic), words)


def left_out_flag(topic: str) -> str:
    return f"rejected {topic}"


def _words(rejected: int, skipped: int) -> str:
    parts = [f"{counted(rejected, 'record')} rejected"] if rejected else []
    return ", ".join([*parts, f"{counted(skipped, 'record')} skipped"] if skipped else parts)
