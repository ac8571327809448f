"""Fitting rules: the open consumers of a packing, indexed so that the next partition's place is found fast.

One class per rule, all with the interface `OpenConsumers`; `published.py` builds the twelve packers on them. Consumers
with equal room are taken in the order in which they were opened.
"""

from bisect import bisect_left, insort
from heapq import heappush, heapreplace
from typing import Protocol

from restow.model import ConsumerId

CLOSED = float("-inf")
"""The room of a consumer that isn't open."""


class OpenConsumers(Protocol):
    def open(self, consumer: ConsumerId, room: float) -> None: ...

    def place(self, speed: float, needed: float) -> ConsumerId | None:
        """Places a partition and returns its consumer, or None if no open consumer has room. `needed` is the speed less
        a tolerance for rounding."""


class NextFit:
    """The consumer that was opened last, or none."""

    def __init__(self) -> None:
        self.last: ConsumerId | None = None
        self.room = CLOSED

    def open(self, consumer: ConsumerId, room: float) -> None:
        self.last, self.room = consumer, room

    def place(self, speed: float, needed: float) -> ConsumerId | None:
        if self.room < needed:
            return None
        self.room -= speed
        return self.last


class FirstFit:
    """The consumer that was opened first among those with room.

    A tournament tree: leaf i is the room of the i-th opened consumer, and each inner node the larger of its children.
    The first leaf with enough room is found by descending, to the left where that suffices.
    """

    def __init__(self) -> None:
        self.opened: list[ConsumerId] = []
        self.leaves = 64
        self.rooms = [CLOSED] * (2 * self.leaves)

    def open(self, consumer: ConsumerId, room: float) -> None:
        if len(self.opened) == self.leaves:
            self._grow()
        self.opened.append(consumer)
        self._set(self.leaves + len(self.opened) - 1, room)

    def place(self, speed: float, needed: float) -> ConsumerId | None:
        rooms = self.rooms
        if rooms[1] < needed:
            return None
        node = 1
        while node < self.leaves:
            node *= 2
            if rooms[node] < needed:
                node += 1
        self._set(node, rooms[node] - speed)
        return self.opened[node - self.leaves]

    def _set(self, node: int, room: float) -> None:
        rooms = self.rooms
        rooms[node] = room
        while node > 1:
            other = rooms[node ^ 1]
            if other > room:
                room = other
            node //= 2
            if rooms[node] == room:
                return
            rooms[node] = room

    def _grow(self) -> None:
        leaves = self.rooms[self.leaves :]
        self.leaves *= 2
        self.rooms = [CLOSED] * (2 * self.leaves)
        for index, room in enumerate(leaves):
            self._set(self.leaves + index, room)


class WorstFit:
    """The consumer with the most room: a heap."""

    def __init__(self) -> None:
        self.heap: list[tuple[float, int, ConsumerId]] = []
        """Negated room, order of opening, consumer."""

    def open(self, consumer: ConsumerId, room: float) -> None:
        heappush(self.heap, (-room, len(self.heap), consumer))

    def place(self, speed: float, needed: float) -> ConsumerId | None:
        if not self.heap:
            return None
        lack, turn, consumer = self.heap[0]
        if -lack < needed:
            return None
        heapreplace(self.heap, (lack + speed, turn, consumer))
        return consumer


class BestFit:
    """The consumer with the least sufficient room: a sorted list."""

    def __init__(self) -> None:
        self.by_room: list[tuple[float, int, ConsumerId]] = []
        """Room, order of opening, consumer."""

    def open(self, consumer: ConsumerId, room: float) -> None:
        insort(self.by_room, (room, len(self.by_room), consumer))

    def place(self, speed: float, needed: float) -> ConsumerId | None:
        by_room = self.by_room
        found = bisect_left(by_room, (needed,))
        if found == len(by_room):
            return None
        room, turn, consumer = by_room.pop(found)
        insort(by_room, (room - speed, turn, consumer), 0, found)
        return consumer
