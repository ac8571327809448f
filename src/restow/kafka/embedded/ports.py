"""Free ports for the embedded broker, on the loopback interface."""

import random
import socket

from restow.errors import InvalidInput, RestowError

LOOPBACK = "127.0.0.1"

RANDOM_PORTS = range(20_000, 30_000)
"""Below the ephemeral ports (Linux from 32768, others from 49152 on), so that no outgoing connection takes a port
before its node binds it, or while the node is down."""


def choose_ports(count: int) -> tuple[int, ...]:
    """Returns different free ports, chosen at random. Raises RestowError if there are not enough."""
    shuffled = random.SystemRandom().sample(RANDOM_PORTS, len(RANDOM_PORTS))
    free = tuple(port for _, port in zip(range(count), filter(_is_free, shuffled), strict=False))
    if len(free) < count:
        raise RestowError(f"there are no {count} free ports between {RANDOM_PORTS[0]} and {RANDOM_PORTS[-1]}")
    return free


def check_ports(ports: range) -> None:
    """Checks ports that the user chose. Raises InvalidInput."""
    for port in ports:
        if not 1 <= port <= 65_535:
            raise InvalidInput(f"there is no port {port}; it must be from 1 to 65535")
        if not _is_free(port):
            raise InvalidInput(f"port {port} of {LOOPBACK} is taken; stop what listens there, or choose another port")


def _is_free(port: int) -> bool:
    with socket.socket() as trial:
        # As Java does: connections in TIME_WAIT don't keep a port.
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((LOOPBACK, port))
            trial.listen()
        except OSError:
            return False
    return True
