"""Reads the file of `restow plan`: a group's capacities, assignment and speeds as JSON become a `Problem`.

    {"capacity": 100,                                   or {"default": 100, "3": 150}: consumer 3 carries more
     "assignment": {"1": ["orders-0", "orders-1"], "2": []},
     "speeds": {"orders": {"0": 37.5, "1": 20, "2": 5}},
     "margins": {"trigger": 1.2, "evict_to": 1, "fill_to": 1, "drain_to": 0.9},      optional, as all below
     "worth": 1, "least_consumers": 1, "most_consumers": 20}

A partition without a speed is given up; one without a consumer is new. Capacities and speeds have the same unit. Each
margin is at most the one before it; a margin that is left out is 1, or as close to 1 as the others allow.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from restow.errors import InvalidInput
from restow.model import FIRST_CONSUMER, Assignment, Capacities, ConsumerId, SortedMapping, TopicPartition
from restow.packing import Margins, Problem
from restow.packing.problem import MARGINS
from restow.study.strict_json import Element, read
from restow.study.workload import read_speeds

REQUIRED: Final = ("capacity", "assignment", "speeds")
KEYS: Final = (*REQUIRED, "margins", "worth", "least_consumers", "most_consumers")

PLAN_FORM: Final = f"an object with {', '.join(REQUIRED)}"
CAPACITY_FORM: Final = "a number above 0"
CAPACITIES_FORM: Final = 'a number above 0, or an object like {"default": 100, "3": 150}'
ASSIGNMENT_FORM: Final = 'an object of consumers, {"1": ["orders-0", "orders-1"]}'
PARTITIONS_FORM: Final = 'an array of partitions, ["orders-0", "orders-1"]'
PARTITION_FORM: Final = "a partition: the topic, a dash and the number, like orders-7"
MARGIN_FORM: Final = "a share of the capacity above 0"


def read_problem(file: Path, worth: float | None = None) -> Problem:
    """`worth` overrides the file's."""
    found = read(file).fields(PLAN_FORM, known=KEYS, required=REQUIRED)
    worth_in_file = found["worth"].number("a number, 0 or more") if "worth" in found else 1.0
    with _named(file):
        return Problem(
            speeds=read_speeds(found["speeds"]),
            current=_assignment(found["assignment"]),
            capacities=_capacities(found["capacity"]),
            worth=worth_in_file if worth is None else worth,
            margins=_margins(found["margins"]) if "margins" in found else Margins(),
            least_consumers=_count(found, "least_consumers", least=0) or 0,
            most_consumers=_count(found, "most_consumers", least=1),
        )


@contextmanager
def _named(file: Path) -> Iterator[None]:
    """Adds the file's name to errors that the model raises, such as two values that contradict each other."""
    try:
        yield
    except InvalidInput as error:
        message = str(error)
        raise InvalidInput(message if message.startswith(f"{file}: ") else f"{file}: {message}") from None


def _assignment(element: Element) -> Assignment:
    held: dict[ConsumerId, list[TopicPartition]] = {}
    places: dict[TopicPartition, str] = {}
    for key, listed in element.entries(ASSIGNMENT_FORM):
        consumer = _consumer(key, listed)
        held[consumer] = []
        for name in listed.elements(PARTITIONS_FORM):
            partition = _partition(name)
            if partition in places:
                raise InvalidInput(
                    f"{name.file}: {name.place} is {partition}, as is {places[partition]}; a partition has one consumer"
                )
            places[partition] = name.place
            held[consumer].append(partition)
    return Assignment.of_consumers(held)


def _consumer(key: str, element: Element) -> ConsumerId:
    """Only the printed form is accepted: 03 would be a second name for 3."""
    if not (key.isascii() and key.isdigit() and len(key) < 10 and key[0] != "0"):
        raise InvalidInput(
            f"{element.file}: {element.place} is no consumer; its key must be a whole number, {FIRST_CONSUMER} or more"
        )
    return ConsumerId(int(key))


def _partition(element: Element) -> TopicPartition:
    try:
        return TopicPartition.parse(element.text(PARTITION_FORM))
    except InvalidInput:
        raise element.refused(PARTITION_FORM) from None


def _capacities(element: Element) -> Capacities:
    if not isinstance(element.value, dict):
        return Capacities(element.number(CAPACITIES_FORM, above=0))
    entries = dict(element.entries(CAPACITIES_FORM))
    default = entries.pop("default", None)
    if default is None:
        raise InvalidInput(f"{element.file}: there is no 'default' in {element.place}; new consumers need one")
    own = {_consumer(key, capacity): capacity.number(CAPACITY_FORM, above=0) for key, capacity in entries.items()}
    return Capacities(default.number(CAPACITY_FORM, above=0), SortedMapping(own))


def _margins(element: Element) -> Margins:
    found = element.fields(f"an object of {', '.join(MARGINS)}", known=MARGINS)
    return Margins.given({name: share.number(MARGIN_FORM, above=0) for name, share in found.items()})


def _count(found: dict[str, Element], key: str, least: int) -> int | None:
    if key not in found:
        return None
    return found[key].whole_number(f"a whole number, {least} or more", least=least)
