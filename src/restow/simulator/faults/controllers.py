"""Controllers: crashes, hangs, standbys, and a controller on another platform."""

from functools import partial
from typing import Final

from restow.simulator.faults.context import Acts, Context
from restow.simulator.faults.kinds import Fault


def controller_crashes(context: Context) -> bool:
    controller = context.world.controller_in_charge()
    if controller is None:
        return False
    controller.inject(controller.die, context.steps())
    return True


def two_controllers(context: Context) -> bool:
    controller = context.world.controller_in_charge()
    if controller is None:
        return False
    until_s = context.until(4, 90)  # shorter than the silence limit, and longer
    is_forced = context.rng.random() < 0.3

    def replace_it() -> None:
        controller.freeze(until_s)
        has_moved = context.world.former is not None and context.world.former.pods
        context.world.start_controller(is_forced and not has_moved)

    controller.inject(replace_it, context.steps())
    return True


def standby(context: Context) -> bool:
    """A supervisor keeps two controllers running from now on; one of them may hang for a while."""
    if len(context.world.standbys()) > 1:
        return False
    context.world.wanted_controllers = 2
    context.world.start_controller()
    if context.rng.random() < 0.5:
        until_s = context.until(5, 60)
        context.later(context.until(1, 30), partial(_freeze_standbys, context, until_s))
    return True


def _freeze_standbys(context: Context, until_s: float) -> None:
    for standby in context.world.standbys():
        standby.freeze(until_s)


def controller_stops(context: Context) -> bool:
    running = [each for each in context.world.controllers if each.is_alive]
    if not running:
        return False
    context.rng.choice(running).should_stop = True
    return True


def both_controllers_crash(context: Context) -> bool:
    controller, standbys = context.world.controller_in_charge(), context.world.standbys()
    if controller is None or not standbys:
        return False

    def crash() -> None:
        for each in (controller, *standbys):
            each.die()

    controller.inject(crash, context.steps())
    return True


def moved(context: Context) -> bool:
    """A copied restow.toml. After a while a person notices, and ends the first set of consumers."""
    if context.world.former is not None and context.world.former.pods:
        return False
    former = context.world.move()
    context.later(context.until(20, 120), former.end_all)
    return True


CONTROLLERS: Final[Acts] = {
    Fault.CONTROLLER_CRASHES: controller_crashes,
    Fault.TWO_CONTROLLERS: two_controllers,
    Fault.STANDBY: standby,
    Fault.CONTROLLER_STOPS: controller_stops,
    Fault.BOTH_CONTROLLERS_CRASH: both_controllers_crash,
    Fault.MOVED: moved,
}
