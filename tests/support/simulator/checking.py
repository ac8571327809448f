"""For tests of checkers: each must see what it is there for, and nothing in what is allowed."""

import random
from dataclasses import replace

from restow.consumer.checkpoint import Checkpoint
from restow.consumer.effects import ChangeAssignment
from restow.controller.state import View
from restow.controller.transitions import Phase
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.consumer_settings import ConsumerSettings
from restow.protocol.field_types import StartFrom
from restow.protocol.messages.commands import StartConsumingCommand
from restow.protocol.topic_service import TopicService
from restow.simulator.consumer import ConsumerProcess, Volume
from restow.simulator.controller import ControllerProcess
from restow.simulator.world import World

P = TopicPartition("topic-0", 0)
TABLE = TopicService("lake/topic-0")
ORDINARY = TopicService("lake/topic-0", refuses_late_writes=False)
ONE, TWO = ConsumerId(1), ConsumerId(2)


class Said(list[int]):
    """The numbers of the lines that were violated."""

    def __call__(self, line: int, words: str) -> None:
        assert words
        self.append(line)


def process(world: World, number: ConsumerId, incarnation: int, saved: Checkpoint | None = None) -> ConsumerProcess:
    found = ConsumerProcess(world, number, Volume(saved), ConsumerSettings(), random.Random(number))
    found.incarnation = incarnation
    world.processes.append(found)
    return found


def start(
    sequence: int = 1, incarnation: int = 20, epoch: int = 5, service: TopicService = TABLE
) -> StartConsumingCommand:
    partitions: SortedMapping[TopicPartition, StartFrom] = SortedMapping({P: 7})
    return StartConsumingCommand(epoch, sequence, incarnation, SortedMapping({P.topic: service}), partitions)


def change(*, starts: bool) -> ChangeAssignment:
    topics = SortedMapping({P.topic: TABLE})
    return ChangeAssignment(() if starts else (P,), SortedMapping({P: 7} if starts else {}), topics)


def lost(controller: ControllerProcess, number: ConsumerId) -> None:
    controller.state = replace(controller.state, consumers={number: View(Phase.LOST, 0.0, 0.0)})
