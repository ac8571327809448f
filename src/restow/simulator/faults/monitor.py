"""The monitor: crashes, silence and nonsense."""

from typing import Final

from restow.simulator.faults.context import Acts, Context
from restow.simulator.faults.kinds import Fault


def monitor_crashes(context: Context) -> None:
    context.world.monitor.inject(context.world.monitor.die, context.rng.randint(0, 2))


def monitor_gap(context: Context) -> None:
    context.world.monitor.silent_until_s = context.until(20, 120)


def nonsense(context: Context) -> None:
    context.world.monitor.nonsense_until_s = context.until(10, 60)


MONITOR: Final[Acts] = {
    Fault.MONITOR_CRASHES: monitor_crashes,
    Fault.MONITOR_GAP: monitor_gap,
    Fault.NONSENSE: nonsense,
}
