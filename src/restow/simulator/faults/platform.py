"""The platform: starts that are slow or fail, refusals, and consumers that vanish or are reported gone too early."""

from functools import partial
from typing import Final

from restow.controller.transitions import Phase
from restow.model import ConsumerId
from restow.simulator.consumer import ConsumerProcess
from restow.simulator.faults.context import Acts, Context
from restow.simulator.faults.kinds import Fault
from restow.simulator.faults.settings import change_settings
from restow.simulator.platform import Pod


def slow_starts(context: Context) -> None:
    """A group with a least number of consumers also loses one, so that it has to start another."""
    context.world.platform.slow_until_s = context.until(30, 120)
    pods = context.world.platform.pods
    if context.world.rules.controller.least_consumers and pods:
        context.world.platform.vanish(context.rng.choice(sorted(pods)))


def failed_starts(context: Context) -> None:
    context.world.platform.fails_until_s = context.until(20, 90)


def platform_refuses(context: Context) -> None:
    context.world.platform.refuses_until_s = context.until(10, 60)


def consumer_vanishes(context: Context) -> bool:
    """Any consumer, and those that are created soon after; or one in a roll; or one that hangs while a new
    controller waits for its answer."""
    pods = context.world.platform.pods
    if not pods:
        return False
    if context.rng.random() < 0.25:
        change_settings(context)
        context.when(partial(_rolling, context), partial(_vanish_rolling, context), until_s=context.until(30, 90))
        return True
    pod = pods[context.rng.choice(sorted(pods))]
    controller, process = context.world.controller_in_charge(), pod.process
    if controller is None or not isinstance(process, ConsumerProcess) or context.rng.random() < 0.6:
        context.world.platform.vanish(pod.consumer)
        context.world.platform.loses_new_until_s = context.until(2, 10)
        return True
    process.freeze(context.until(60, 90))
    controller.die()
    context.later(
        context.until(22, 30), lambda: context.world.platform.vanish(pod.consumer) if _exists(context, pod) else None
    )
    return True


def _rolling(context: Context) -> ConsumerId | None:
    """The consumer in a roll that is not ready yet; None if there is none."""
    controller = context.world.controller_in_charge()
    views = {} if controller is None else controller.state.consumers
    rolling = (number for number, view in views.items() if view.phase is Phase.ROLLING)
    return next((number for number in rolling if number in context.world.platform.pods), None)


def _vanish_rolling(context: Context) -> None:
    consumer = _rolling(context)
    if consumer is not None:
        context.world.platform.vanish(consumer)


def _exists(context: Context, pod: Pod) -> bool:
    return context.world.platform.pods.get(pod.consumer) is pod


def gone_too_early(context: Context) -> bool:
    process = context.consumer()
    if process is None:
        return False
    context.world.platform.disown(process.number)
    context.world.disowned.append(process)
    if context.rng.random() < 0.5:
        process.freeze(context.until(5, 60))
    context.later(context.until(20, 200), process.die)
    return True


PLATFORM: Final[Acts] = {
    Fault.SLOW_STARTS: slow_starts,
    Fault.FAILED_STARTS: failed_starts,
    Fault.CONSUMER_VANISHES: consumer_vanishes,
    Fault.GONE_TOO_EARLY: gone_too_early,
    Fault.PLATFORM_REFUSES: platform_refuses,
}
