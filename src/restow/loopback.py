"""Which addresses and Host headers mean this machine alone. Servers on loopback refuse all others: a hostile site whose
name resolves to 127.0.0.1 (DNS rebinding) would otherwise count as the server itself in a browser.
"""

import ipaddress
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Whether this address, or name, can only be reached from the same machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def names_loopback(header: str) -> bool:
    """Whether a Host header, with or without a port, is a loopback name."""
    try:
        name = urlsplit(f"//{header}").hostname
    except ValueError:
        return False
    return name is not None and is_loopback(name)
