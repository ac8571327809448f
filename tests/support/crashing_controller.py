"""Runs `restow controller`, which kills itself with SIGKILL at an exact point.

python crashing_controller.py controller …      with a name of POINTS in the environment variable CRASH_AT
"""

import os
import signal
import sys
from collections.abc import Callable, Iterable
from typing import Any

from restow.cli import main
from restow.controller.effects import Effect, Moved
from restow.controller.transitions import Stage
from restow.kafka.channels.controller import Addressed
from restow.platform.interface import PlatformRequest
from restow.protocol.messages.commands import StateQuery
from restow.roles.controller import ControllerProcess

POINT = os.environ["CRASH_AT"]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def after_round(condition: Callable[[ControllerProcess], bool]) -> None:
    round_ = ControllerProcess.round

    def crashing(self: ControllerProcess) -> None:
        round_(self)
        if condition(self):
            die()

    ControllerProcess.round = crashing  # type: ignore[method-assign]


def before(method: str, condition: Callable[..., bool]) -> None:
    original: Callable[..., Any] = getattr(ControllerProcess, method)

    def crashing(self: ControllerProcess, *arguments: Any) -> Any:
        if condition(self, *arguments):
            die()
        return original(self, *arguments)

    setattr(ControllerProcess, method, crashing)


def after(method: str, condition: Callable[..., bool]) -> None:
    original: Callable[..., Any] = getattr(ControllerProcess, method)

    def crashing(self: ControllerProcess, *arguments: Any) -> Any:
        answer = original(self, *arguments)
        if condition(self, *arguments):
            die()
        return answer

    setattr(ControllerProcess, method, crashing)


def is_in(stage: Stage) -> Callable[[ControllerProcess], bool]:
    return lambda self: self._state.stage is stage


def decided(_: ControllerProcess, effects: Iterable[Effect]) -> bool:
    return any(isinstance(effect, Moved) and effect.target is Stage.REASSIGN for effect in effects)


def commands(_: ControllerProcess, sends: Iterable[Addressed], __: Iterable[PlatformRequest]) -> bool:
    return any(not isinstance(sent.message, StateQuery) for sent in sends)


POINTS: dict[str, Callable[[], None]] = {
    "Synchronize": lambda: after_round(
        lambda self: is_in(Stage.SYNCHRONIZE)(self) and bool(self._state.consumers)  # all consumers were queried
    ),
    "Sentinel": lambda: after_round(is_in(Stage.SENTINEL)),
    "Reassign, decided and nothing sent": lambda: before("_act", decided),
    "Reassign, intention committed and no consumer created": lambda: before("_change", lambda *_: True),
    "Manage, consumers created": lambda: after("_change", lambda *_: True),
    "Manage, commands sent": lambda: after("_commit", commands),
    "Manage, in the middle": lambda: after_round(
        lambda self: is_in(Stage.MANAGE)(self) and any(view.sent for view in self._state.consumers.values())
    ),
}

if __name__ == "__main__":
    POINTS[POINT]()
    sys.exit(main())
