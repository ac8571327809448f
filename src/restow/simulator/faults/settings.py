"""Settings of consumers, and the modules of their transforms: new ones, and broken ones."""

from functools import partial
from typing import Final

from restow.controller.transitions import Stage
from restow.model import SortedMapping
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.messages.service import ServiceUpdate
from restow.simulator.consumer import BROKEN_CODE
from restow.simulator.faults.context import Acts, Context
from restow.simulator.faults.kinds import Fault
from restow.simulator.platform import BROKEN_IMAGE


def change_settings(context: Context, image: str = "restow") -> None:
    version = context.next_version()
    settings = ConsumerSettings(
        image=f"{image}:{version}",
        memory_mb=context.rng.choice((None, 2048)),
        env=SortedMapping({"LEVEL": context.rng.choice("abc")} if context.rng.random() < 0.5 else {}),
    )
    context.update(ServiceUpdate("consumers", consumers=settings))


def settings_in_a_move(context: Context) -> None:
    context.when(partial(_is_managing, context), partial(change_settings, context), until_s=context.until(30, 120))


def bad_settings(context: Context) -> None:
    change_settings(context, BROKEN_IMAGE)
    context.later(context.until(30, 240), partial(change_settings, context))


def new_code(context: Context) -> None:
    _change_code(context, "code")
    context.later(context.until(0, 30), context.world.reload)


def broken_code(context: Context) -> None:
    """Mended later. In between it is reloaded, or only a consumer that crashes loads it."""
    _change_code(context, BROKEN_CODE)
    if context.rng.random() < 0.6:
        context.world.reload()
    elif (process := context.consumer()) is not None:
        process.inject(process.die, context.steps())
    context.later(context.until(30, 240), partial(_mend_code, context))


def _mend_code(context: Context) -> None:
    _change_code(context, "code")
    context.world.reload()


def _change_code(context: Context, name: str) -> None:
    context.world.change_code(f"{name}:{context.next_version()}")


def _is_managing(context: Context) -> bool:
    controller = context.world.controller_in_charge()
    return controller is not None and controller.state.stage is Stage.MANAGE


SETTINGS: Final[Acts] = {
    Fault.NEW_SETTINGS: change_settings,
    Fault.SETTINGS_IN_A_MOVE: settings_in_a_move,
    Fault.BAD_SETTINGS: bad_settings,
    Fault.NEW_CODE: new_code,
    Fault.BROKEN_CODE: broken_code,
}
