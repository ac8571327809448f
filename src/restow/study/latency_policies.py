"""The policies of the latency study: each assigns partitions in each step, from the speeds it sees.

    kafka-15, kafka-24, …   Kafka's own: round robin over that many consumers, which never changes
    mwf, bfd, …             a published packer, which fills consumers to the packing limit in every step
    restow                  restow's packer with its margins: consumers are filled to the packing limit, as by the
                            published packers, but relieved only close to their real capacity
    restow-brim             restow's packer without that margin: no consumer is ever above the packing limit

latency.py runs them; `restow study latency --policy` names them.
"""

import re
from collections.abc import Callable, Iterable
from typing import Final

from restow.errors import InvalidInput
from restow.model import FIRST_CONSUMER, Assignment, Capacities, ConsumerId, Speeds, TopicPartition
from restow.packing import PACKERS, PUBLISHED, Margins, Problem

PACKING_LIMIT: Final = 100.0
"""What a packer may assign to a consumer, in the study's units of speed."""
REAL_CAPACITY: Final = 133.0
"""What a consumer can read."""
TRIGGER: Final = 120.0
"""`restow` relieves a consumer only above this: late enough to ride out small waves, a step before overload."""
EVICT_TO: Final = 110.0
"""And only down to this: half way back, because what it gives up goes to consumers filled to the limit."""
WORTH: Final = PACKING_LIMIT / REAL_CAPACITY
"""A consumer is worth one packing limit of moved speed; packers count in capacities."""

BRIM = Margins(*(4 * [PACKING_LIMIT / REAL_CAPACITY]))
CALM = Margins(TRIGGER / REAL_CAPACITY, EVICT_TO / REAL_CAPACITY, *(2 * [PACKING_LIMIT / REAL_CAPACITY]))
OURS: Final = {"restow": CALM, "restow-brim": BRIM}

KAFKA = re.compile(r"kafka-([1-9][0-9]{0,4})")
DEFAULT_POLICIES: Final = ("kafka-15", "kafka-24", "mwf", "bfd", *OURS)
KNOWN: Final = f"kafka-N (N consumers), {', '.join((*PUBLISHED, *OURS))}"

Policy = Callable[[Speeds, Assignment, Speeds | None], Assignment]
"""(speeds, current assignment, previous speeds if any) -> next assignment."""


def known(name: str) -> str:
    if not (name in PUBLISHED or name in OURS or KAFKA.fullmatch(name)):
        raise InvalidInput(f"there is no policy '{name}'; known are {KNOWN}")
    return name


def policy(name: str, partitions: Iterable[TopicPartition]) -> Policy:
    """`partitions` are those of the whole run: a static assignment places all of them from the start."""
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
