"""The identity of the platform: this machine, since it booted, and the directory of the consumers' volumes.

The controller and its consumers derive it from the directory itself, by device and inode, so that it is the same under
every path to it and differs where a copied restow.toml names the same path on another machine or in another container.
No process outlives a boot, so that a new identity after it makes no running consumer foreign.
"""

import hashlib
import socket
from pathlib import Path

from restow.platform.processes.linux import boot_id, need_linux
from restow.protocol.platform_identity import PlatformIdentity


def identity_of(directory: Path) -> PlatformIdentity | None:
    """Returns None if the directory can't be used, which its users report."""
    need_linux()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        status = directory.stat()
    except OSError:
        return None
    place = f"{boot_id()} {status.st_dev} {status.st_ino}"
    digest = hashlib.sha256(place.encode()).hexdigest()[:12]
    return PlatformIdentity(f"processes-{digest}", f"{socket.gethostname()}:{directory.resolve()}")
