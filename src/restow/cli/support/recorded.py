"""Records a controller or a monitor as part of its group on this machine, so that `restow down` ends it."""

from collections.abc import Callable
from contextlib import ExitStack

from restow.settings import Settings


def recorded(
    role: str, settings: Settings, should_stop: Callable[[float], bool], ending: ExitStack
) -> Callable[[float], bool]:
    """Returns the `should_stop` to run with: it also retries a record that could not be made. Neither a monitor without
    a group is recorded, nor a pod, which its cluster ends."""
    if not settings.consume or settings.group.platform == "kubernetes":
        return should_stop
    from restow.platform.processes.location import directory_of
    from restow.platform.processes.roles import RunningRole

    running = ending.enter_context(RunningRole(settings.group.name, directory_of(settings), role))
    return running.while_recorded(should_stop)
