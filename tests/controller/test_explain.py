"""The lines that explain a step of the event log."""

import pytest
from tests.support.controller_driver import A0, A1, RULES, TO_A, create, delete, restart

from restow.controller.effects import Effect, ListConsumers, Moved, Noted, Send
from restow.controller.event_log import Step
from restow.controller.events import ClockTicked
from restow.controller.explain import Line, lines_of
from restow.controller.machine import begin, step
from restow.controller.transitions import Cause, Stage
from restow.model import ConsumerId, SortedMapping
from restow.protocol.messages.commands import StartConsumingCommand, StateQuery, StopConsumingCommand

TWO = ConsumerId(2)


def lines(*effects: Effect) -> list[Line]:
    before = begin(RULES)
    after, _ = step(before, ClockTicked(12.5))
    return list(lines_of(Step(2, ClockTicked(12.5), before, after, effects, agrees=True)))


@pytest.mark.parametrize(
    ("effect", "kind", "names", "words"),
    [
        (
            Moved(Stage.SENTINEL, Stage.REASSIGN, Cause.GONE, "a consumer disappeared"),
            "transition",
            set(),
            "Sentinel -> Reassign: a consumer disappeared",
        ),
        (Noted("decision", "a-0", "a-0 goes to consumer 2"), "decision", {"a-0"}, "a-0 goes to consumer 2"),
        (Noted("flag", "infeasible", "a-0 is fast"), "flag", {"infeasible"}, "infeasible: a-0 is fast"),
        (Noted("cleared", "infeasible", "resolved, …"), "flag", {"infeasible"}, "infeasible: resolved, …"),
        (Noted("consumer", "consumer 2", "gone"), "consumer", {"consumer 2"}, "consumer 2: gone"),
        (
            Send(TWO, StopConsumingCommand(7, 3, 81, (A0, A1))),
            "command",
            {"consumer 2", "a-0", "a-1"},
            "to consumer 2: stop a-0 and a-1 (command 3)",
        ),
        (
            Send(TWO, StartConsumingCommand(7, 4, 81, SortedMapping({"a": TO_A}), SortedMapping({A0: 5}))),
            "command",
            {"consumer 2", "a-0"},
            "to consumer 2: start a-0 (command 4)",
        ),
        (
            Send(TWO, StateQuery(7, 1)),
            "command",
            {"consumer 2"},
            "to consumer 2: report what you hold (query 1)",
        ),
        (create(2), "platform", {"consumer 2"}, "create consumer 2"),
        (delete(2), "platform", {"consumer 2"}, "delete consumer 2"),
        (restart(2), "platform", {"consumer 2"}, "restart consumer 2"),
    ],
)
def test_each_effect_has_a_line(effect: Effect, kind: str, names: set[str], words: str) -> None:
    [line] = lines(effect)
    assert (line.time_s, line.kind, set(line.names), line.words) == (12.5, kind, names, words)


def test_lists_of_consumers_have_no_line() -> None:
    assert lines(ListConsumers()) == []


def test_lines_come_in_the_order_in_which_things_are_done() -> None:
    assert [line.words for line in lines(delete(2), create(1))] == ["delete consumer 2", "create consumer 1"]
