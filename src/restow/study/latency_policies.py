"""The policies of the latency study: who reads what in each step, given the speeds it sees.

    kafka-15, kafka-24, …   Kafka's own way: one round robin over that many consumers, which never changes
    mwf, bfd, …             a published packer, filling consumers to the packing limit in every step
    restow                  our packer with the margins it is meant to run with: consumers are filled to the packing
                            limit, as the published packers do, but one is relieved only when it comes close to its
                            real capacity
    restow-brim             our packer without that margin: nobody is ever above the packing limit

latency.py runs them; `restow study latency --policy` names them.
"""

import re
from collections.abc import Callable, Iterable
from typing import Final

from restow.errors import InvalidInput
from restow.model import FIRST_CONSUMER, Assignment, Capacities, ConsumerId, Speeds, TopicPartition
from restow.packing import PACKERS, PUBLISHED, Margins, Problem

PACKING_LIMIT: Final = 100.0
"""What a packer may put on a consumer, in the study's units of speed."""
REAL_CAPACITY: Final = 133.0
"""What a consumer can really read."""
TRIGGER: Final = 120.0
"""`restow` relieves a consumer only above this: late enough to sit out small waves, a step before it is too late."""
EVICT_TO: Final = 110.0
"""And only down to this: half way back, since what it gives up has to go to somebody who is filled to the limit."""
WORTH: Final = PACKING_LIMIT / REAL_CAPACITY
"""A consumer is worth one packing limit of moved speed; packers count in capacities."""

BRIM = Margins(*(4 * [PACKING_LIMIT / REAL_CAPACITY]))
CALM = Margins(TRIGGER / REAL_CAPACITY, EVICT_TO / REAL_CAPACITY, *(2 * [PACKING_LIMIT / REAL_CAPACITY]))
OURS: Final = {"restow": CALM, "restow-brim": BRIM}

KAFKA = re.compile(r"kafka-([1-9][0-9]{0,4})")
DEFAULT_POLICIES: Final = ("kafka-15", "kafka-24", "mwf", "bfd", *OURS)
KNOWN: Final = f"kafka-N (N consumers), {', '.join((*PUBLISHED, *OURS))}"

Policy = Callable[[Speeds, Assignment, Speeds | None], Assignment]
"""The speeds it sees, the current assignment and the speeds it saw before (if any) -> the next assignment."""


def known(name: str) -> str:
    if not (name in PUBLISHED or name in OURS or KAFKA.fullmatch(name)):
        raise InvalidInput(f"there is no policy '{name}'; known are {KNOWN}")
    return name


def policy(name: str, partitions: Iterable[TopicPartition]) -> Policy:
    """The partitions are those of the whole run: a static assignment has a place for each from the start."""
    if kafka := KAFKA.fullmatch(known(name)):
        static = round_robin(partitions, int(kafka[1]))
        return lambda _speeds, _current, _previous: static
    if name in OURS:
        return _packed("restow", Capacities(REAL_CAPACITY), OURS[name])
    return _packed(name, Capacities(PACKING_LIMIT), Margins())


def round_robin(partitions: Iterable[TopicPartition], consumers: int) -> Assignment:
    members = [ConsumerId(FIRST_CONSUMER + index) for index in range(consumers)]
    owners = {partition: members[index % consumers] for index, partition in enumerate(sorted(partitions))}
    return Assignment(owners, idle=members)


def _packed(packer: str, capacities: Capacities, margins: Margins) -> Policy:
    pack = PACKERS[packer]

    def decide(speeds: Speeds, current: Assignment, previous: Speeds | None) -> Assignment:
        return pack(Problem(speeds, current, capacities, WORTH, margins, previous=previous)).assignment

    return decide
