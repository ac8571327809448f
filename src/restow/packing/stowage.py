"""The stowage: which partition is where right now, and what that costs, as arrays.

A decision tries thousands of changes, so what works on this is compiled by numba: `room` finds consumers by their room,
`moving` changes the stowage and takes changes back, `placing` finds the best place for one partition, `search` and
`exchange` decide what to try, `ours` makes the arrays from a problem and a plan from the arrays.

    cost = moved speed + worth × consumers in use + caution × risk + PENALTY × excess

The *risk* of a consumer is the speed that it is expected to have to give up at the next decision. The *excess* is load
above the trigger, which no consumer has in the end unless more consumers are needed than are allowed.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from restow.packing.compiler import compiler

NOWHERE = -1
PENALTY = 1e4
"""Above any worth of a consumer that makes sense, so that no consumer is saved by overloading another."""
SLACK = 1 + 1e-9
"""Loads are sums of floats: a consumer that is full to the last digit is full, not overfull."""
BLOCK = 64
"""Buckets of the index that are passed over at once where all of them are empty."""

EJECTIONS = 4096
"""How many moves may be under way before nothing more is ejected; beyond that each partition moves at most once."""

OPEN, JOURNAL, EMPTIES, RANDOM = range(4)
"""The counters: consumers in use, moves in the journal, entries of the heap of empties, the state of the generator."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Records = Any
"""An array of records: numpy's types can't tell its fields."""


compiled = compiler(__file__, ("stowage", "room", "moving", "placing", "search", "exchange"))
"""All modules that use it: together they are one program."""

PARTITION = np.dtype(
    [
        ("speed", np.float64),
        ("home", np.int64),  # where it is now, before anything moves, or NOWHERE
        ("at", np.int64),  # where it would be
        ("after", np.int64),  # the next and the previous one on the same consumer
        ("before", np.int64),
    ]
)
CONSUMER = np.dtype(
    [
        ("capacity", np.float64),
        ("trigger", np.float64),
        ("hold", np.float64),  # may keep of its own: the trigger or, where it was above that, what it is relieved to
        ("fill", np.float64),  # may be filled to with partitions of others
        ("drain", np.float64),  # the same, where those come from a consumer to be closed
        ("load", np.float64),
        ("lightest", np.float64),
        ("second_lightest", np.float64),
        ("burden", np.float64),  # its own part of the cost: caution × risk + PENALTY × excess
        ("count", np.int64),
        ("foreign", np.int64),  # how many of its partitions are not at home
        ("first", np.int64),  # its first partition
        ("bucket", np.int64),  # its place in the index of those in use
        ("bucket_after", np.int64),
        ("bucket_before", np.int64),
        ("listed", np.int64),  # whether it is in the heap of those not in use
        ("rank", np.int64),  # and in which order that gives them out
    ]
)


class Stowage(NamedTuple):
    worth: float
    caution: float
    restlessness: float
    """Standard deviation of the change of one partition's speed between two decisions."""
    largest: float
    """The highest trigger of all: a partition above it is too fast for every consumer."""
    least: int
    most: int
    buckets_per_speed: float
    no_room: int
    """The bucket of consumers that are just full. Those below hold more than they may be filled to."""
    partitions: Records
    """Of PARTITION. Few arrays of records, not many arrays: each array of a tuple costs at every call."""
    consumers: Records
    """Of CONSUMER."""
    bucket_first: Ints
    """Consumers in use, by the room they have."""
    block_count: Ints
    empties: Ints
    """Consumers not in use: a heap."""
    journal: Ints
    """What was moved since the last commit: partition, where it was."""
    counters: Ints
    cost: Floats
