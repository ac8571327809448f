"""Generates docs/controller.md from the code: the stages, the phases of a consumer, the events and the effects.

The transitions come from transitions.py, the descriptions from docstrings. `make docs` (scripts/docs.py) writes the
page; a test fails when page and code differ. The diagrams are in Mermaid, which GitHub draws.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any, Final, get_args

from restow.controller import (
    consumer_events,
    holds,
    manage,
    pins,
    platform_events,
    reassign,
    restarts,
    roll,
    sentinel,
    services,
    starts,
    synchronize,
    timeouts,
)
from restow.controller.effects import Effect
from restow.controller.events import Event
from restow.controller.transitions import PHASES, TRANSITIONS, Cause, Phase, Stage
from restow.protocol.pages import Docs, docs_of, one_line, table

MODULES: Final = {
    Stage.SYNCHRONIZE: synchronize,
    Stage.SENTINEL: sentinel,
    Stage.REASSIGN: reassign,
    Stage.MANAGE: manage,
}

EVERY_STAGE: Final = {
    "Consumer events": consumer_events,
    "Platform events": platform_events,
    "Service updates": services,
    "Pause and recommend only": holds,
    "Timeouts": timeouts,
    "Failed and late starts": starts,
    "Rolls": roll,
    "Restarts": restarts,
    "Pins": pins,
}

INTRODUCTION: Final = """\
# The controller

*Generated from the code by `make docs`; don't edit it.*

The controller is a pure state machine: `step(state, event) -> (state, effects)`. Its process turns Kafka, the platform
and the clock into events and carries out the effects; the simulator drives the same machine. Every step is logged, and
can be replayed and explained with `restow replay`. [protocol.md](protocol.md) has the topics and messages.

## Stages
"""

CONSUMERS: Final = """\
## Phases of a consumer

The controller's view of each consumer. The ends of the diagram are a consumer that does not exist.
"""


def page(sources: Iterable[str]) -> str:
    """`sources`: the texts of the modules that define events, effects and phases."""
    docs = {name: doc for source in sources for name, doc in docs_of(source)}
    blocks = [INTRODUCTION, _diagram(_transitions()), _causes()]
    blocks += [_section(stage, MODULES[stage].__doc__) for stage in Stage]
    blocks += [_section(title, module.__doc__) for title, module in EVERY_STAGE.items()]
    blocks += [CONSUMERS, _diagram(_phase_transitions()), _phases(docs[Phase.__name__])]
    blocks += ["## Events\n", _table_of("event", get_args(Event), docs)]
    blocks += ["## Effects\n", _table_of("effect", get_args(Effect), docs)]
    return "\n".join(blocks)


def _diagram(lines: Iterable[str]) -> str:
    return "```mermaid\nstateDiagram-v2\n" + "".join(f"    {line}\n" for line in lines) + "```\n"


def _transitions() -> Iterator[str]:
    yield f"[*] --> {Stage.SYNCHRONIZE}"
    for source in Stage:
        for target in Stage:
            causes = [cause.value for cause in Cause if (source, target, cause) in TRANSITIONS]
            if causes:
                yield f"{source} --> {target}: {', '.join(causes)}"


def _causes() -> str:
    rows = [
        (f"{source} → {target}", cause.value, cause.words)
        for source in Stage
        for target in Stage
        for cause in Cause
        if (source, target, cause) in TRANSITIONS
    ]
    return table(("transition", "cause", "meaning"), rows)


def _section(title: str, doc: str | None) -> str:
    """A module's docstring, without the title it may start with."""
    text = (doc or "").strip().removeprefix(f"{title}: ")
    return f"### {title}\n\n{text[:1].upper()}{text[1:]}\n"


def _phase_transitions() -> Iterator[str]:
    ends: tuple[Phase | None, ...] = (None, *Phase)
    for source in ends:
        for target in ends:
            if (source, target) in PHASES:
                yield f"{source or '[*]'} --> {target or '[*]'}"


def _phases(docs: Docs) -> str:
    return table(("phase", "meaning"), ((phase.value, docs.of_field[phase.name]) for phase in Phase))


def _table_of(what: str, kinds: Iterable[Any], docs: Mapping[str, Docs]) -> str:
    rows = ((f"`{kind.__name__}`", docs[kind.__name__].text, _fields_of(kind, docs[kind.__name__])) for kind in kinds)
    return table((what, "meaning", "fields"), rows)


def _fields_of(kind: Any, docs: Docs) -> str:
    names = (field.name for field in fields(kind))
    cells = (f"`{name}`: {docs.of_field[name]}" if name in docs.of_field else f"`{name}`" for name in names)
    return one_line("<br>".join(cells))
