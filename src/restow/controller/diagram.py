"""docs/controller.md, written from the code: the states and the ways between them, how a consumer is seen, what can
happen and what is done about it.

The ways come from transitions.py, meanings from docstrings. `make docs` (scripts/docs.py) writes the page; a test fails
when the page and the code differ. The diagrams are Mermaid's, which GitHub draws and people can read as text.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any, Final, get_args

from restow.controller import manage, patience, reassign, roll, sentinel, synchronize
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

INTRODUCTION: Final = """\
# The controller

*Written from the code by `make docs`; don't edit it.*

The controller is a pure machine: `step(state, event) -> (state, effects)`. The process around it turns Kafka, the
platform and the clock into events and does what the effects say; the simulator drives the same machine. Each step can
be logged, replayed and explained (`restow replay`). The topics and messages are in [protocol.md](protocol.md).

## States
"""

CONSUMERS: Final = """\
## How a consumer is seen

From and to nothing: the platform doesn't have it.
"""


def page(sources: Iterable[str]) -> str:
    """`sources`: the texts of the modules in which events, effects and phases stand."""
    docs = {name: doc for source in sources for name, doc in docs_of(source)}
    blocks = [INTRODUCTION, _drawn(_ways_between_stages()), _causes()]
    blocks += [_told(f"### {stage}", MODULES[stage].__doc__, stage) for stage in Stage]
    blocks.append(_told("### When nobody answers", patience.__doc__))
    blocks.append(_told("### New settings", roll.__doc__))
    blocks += [CONSUMERS, _drawn(_ways_between_phases()), _phases(docs[Phase.__name__])]
    blocks += ["## What can happen\n", _table_of("event", get_args(Event), docs)]
    blocks += ["## What is done\n", _table_of("effect", get_args(Effect), docs)]
    return "\n".join(blocks)


def _drawn(ways: Iterable[str]) -> str:
    return "```mermaid\nstateDiagram-v2\n" + "".join(f"    {way}\n" for way in ways) + "```\n"


def _ways_between_stages() -> Iterator[str]:
    yield f"[*] --> {Stage.SYNCHRONIZE}"
    for source in Stage:
        for target in Stage:
            causes = [_name(cause) for cause in Cause if (source, target, cause) in TRANSITIONS]
            if causes:
                yield f"{source} --> {target}: {', '.join(causes)}"


def _name(cause: Cause) -> str:
    return cause.name.lower().replace("_", " ")


def _causes() -> str:
    rows = [
        (f"{source} → {target}", _name(cause), cause.value)
        for source in Stage
        for target in Stage
        for cause in Cause
        if (source, target, cause) in TRANSITIONS
    ]
    return table(("way", "cause", "in words"), rows)


def _told(head: str, doc: str | None, stage: Stage | None = None) -> str:
    """A module's docstring, without the name that it starts with."""
    text = (doc or "").strip().removeprefix(f"{stage}: ")
    return f"{head}\n\n{text[:1].upper()}{text[1:]}\n"


def _ways_between_phases() -> Iterator[str]:
    ends: tuple[Phase | None, ...] = (None, *Phase)
    for source in ends:
        for target in ends:
            if (source, target) in PHASES:
                yield f"{source or '[*]'} --> {target or '[*]'}"


def _phases(docs: Docs) -> str:
    return table(("phase", "meaning"), ((phase.value, docs.of_field[phase.name]) for phase in Phase))


def _table_of(what: str, kinds: Iterable[Any], docs: Mapping[str, Docs]) -> str:
    rows = ((f"`{kind.__name__}`", docs[kind.__name__].text, _carried(kind, docs[kind.__name__])) for kind in kinds)
    return table((what, "meaning", "carries"), rows)


def _carried(kind: Any, docs: Docs) -> str:
    names = (field.name for field in fields(kind))
    told = (f"`{name}`: {docs.of_field[name]}" if name in docs.of_field else f"`{name}`" for name in names)
    return one_line("<br>".join(told))
