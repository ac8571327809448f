"""Consumers: crashes, hangs, signals and lost volumes."""

from typing import Final

from restow.simulator.consumer import Volume
from restow.simulator.faults.context import Acts, Context
from restow.simulator.faults.kinds import Fault


def consumer_crashes(context: Context) -> bool:
    process = context.consumer()
    if process is None:
        return False
    process.inject(process.die, context.steps())
    return True


def lost_volume(context: Context) -> bool:
    process = context.consumer()
    if process is None:
        return False

    def lose() -> None:
        context.world.volumes[process.number] = Volume()
        process.die()

    process.inject(lose, context.steps())
    return True


def consumer_hangs(context: Context) -> bool:
    process = context.consumer()
    if process is None:
        return False
    until_s = context.until(15, 200)
    process.inject(lambda: process.freeze(until_s), context.steps())
    return True


def zombie(context: Context) -> bool:
    process = context.consumer()
    if process is None:
        return False
    pod = context.world.platform.pods[process.number]
    pod.stuck_until_s = context.until(120, 400)
    until_s = min(pod.stuck_until_s, context.until(60, 300))
    process.inject(lambda: process.freeze(until_s), context.steps())
    return True


def sigterm(context: Context) -> bool:
    process = context.consumer()
    if process is None:
        return False
    process.terminate()
    return True


CONSUMERS: Final[Acts] = {
    Fault.CONSUMER_CRASHES: consumer_crashes,
    Fault.CONSUMER_HANGS: consumer_hangs,
    Fault.ZOMBIE: zombie,
    Fault.LOST_VOLUME: lost_volume,
    Fault.SIGTERM: sigterm,
}
