"""Serves a role's metrics and probes while it runs: a local process on a free port, a pod on its own address."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from restow.health import Health
from restow.metrics.board import Board
from restow.platform.kubernetes.names import METRICS_HOST, METRICS_PORT
from restow.settings import Settings

SIGNS: Final = "RESTOW_SIGNS"
"""Set in a pod whose probes read files (restow.health)."""
EVERYWHERE: Final = ("0.0.0.0", "::")
"""No address at which a process can be reached."""


@contextmanager
def serving(settings: Settings, board: Board, health: Health) -> Iterator[None]:
    if not settings.metrics.enabled or (SIGNS in os.environ and METRICS_PORT not in os.environ):
        yield  # the probes of its pod read files
        return
    from restow.metrics.server import MetricsServer, application
    from restow.metrics.targets import TargetFile, targets_directory

    fixed, within_s = os.environ.get(METRICS_PORT), settings.kubernetes.alive_within_s
    if fixed is not None:
        host = os.environ.get(METRICS_HOST) or "0.0.0.0"
        with MetricsServer(host, int(fixed), application(board, health, within_s, host)):
            yield
        return
    host, file = settings.metrics.host, TargetFile(targets_directory(settings), board)
    answer = application(board, health, within_s, host)
    reached_at = socket.gethostname() if host in EVERYWHERE else host
    try:
        with MetricsServer(host, 0, answer, lambda port: file.write(reached_at, port)):
            yield
    finally:
        file.remove()
