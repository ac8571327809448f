"""Runs a Python program without root's right to pass over the permissions of files, so that they hold for it.

    python plain_rights.py program.py ARGUMENTS

Tests often run as root, for whom every directory can be written. The program and all that it starts have no way back.
"""

import ctypes
import os
import sys
from typing import Final

DROP_FROM_BOUNDING_SET: Final = 24  # PR_CAPBSET_DROP of Linux's prctl
PASSING_OVER_PERMISSIONS: Final = (1, 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


def drop() -> bool:
    """What is started from now on is without these rights. Returns False if this process may not drop them; other
    users than root have none."""
    prctl = ctypes.CDLL(None).prctl
    rights = PASSING_OVER_PERMISSIONS if os.geteuid() == 0 else ()
    return all(prctl(DROP_FROM_BOUNDING_SET, each, 0, 0, 0) == 0 for each in rights)


if __name__ == "__main__":
    assert drop(), "it takes the capability CAP_SETPCAP"
    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
