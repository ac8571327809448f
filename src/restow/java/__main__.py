"""Fetches the embedded broker's jars ahead of time: `make` runs `python -m restow.java`."""

from restow.java.jars import KAFKA, fetch
from restow.logs import to_terminal

if __name__ == "__main__":
    with to_terminal():
        fetch(KAFKA)
