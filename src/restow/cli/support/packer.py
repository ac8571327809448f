"""Loads restow's packer before it is needed, and says so if that takes long because it has to be compiled."""

import logging

log = logging.getLogger(__name__)


def load_packer() -> None:
    from restow.packing import warm_up

    warm_up(lambda: log.info("compiling the packer: half a minute, once on a machine and after an update"))
