"""Finds the directory of a group's processes: `[processes] directory`, relative to restow.toml.

The controller, the monitor and `restow down` ask here, so that all of them find the same group wherever they are
started. In older versions a relative directory started in the working directory. A group that is still there must not
be started a second time at the new place.
"""

from pathlib import Path

from restow.errors import InvalidInput
from restow.platform.interface import PlatformRefusal
from restow.platform.processes.roles import running_roles
from restow.platform.processes.supervisors import Supervisors
from restow.settings import Settings


def directory_of(settings: Settings) -> Path:
    """The absolute path. Raises InvalidInput if the group is in the working directory instead."""
    group, written = settings.group.name, settings.processes.directory
    right, former = Path(settings.located(written)).absolute(), Path(written).absolute()
    if former.resolve() != right.resolve() and _has_group(group, former) and not _has_group(group, right):
        raise InvalidInput(
            f'[processes] directory = "{written}": group {group} is in {former}, relative to the working directory, '
            f"where an older version put it, and not in {right}, relative to restow.toml. To continue there, write "
            f'directory = "{former}". To move it, write that, end the group with `restow down`, move the directory, '
            "and remove the line"
        )
    return right


def _has_group(group: str, directory: Path) -> bool:
    """Whether a volume or a process of the group is recorded there."""
    if not directory.is_dir():
        return False
    supervisors = Supervisors(group, directory)
    try:
        return bool(supervisors.volumes() or supervisors.consumers() or running_roles(group, directory))
    except (OSError, PlatformRefusal):
        return False
