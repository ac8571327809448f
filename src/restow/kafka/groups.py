"""Describes consumer groups of a cluster, read-only, for `restow advise`: members, assignments and committed offsets.

It joins no group and commits nothing. It needs Describe on the group and on its topics.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions, KafkaException

from restow.errors import RestowError
from restow.kafka.admin import ANSWER_WITHIN_S, Admin
from restow.kafka.clients import make_admin_client
from restow.kafka.errors import cause, explained
from restow.model import TopicPartition
from restow.monitor.group_look import GroupLook, Member
from restow.settings import Kafka


@dataclass(frozen=True, slots=True)
class GroupDescription:
    state: str
    protocol: str
    assignor: str
    members: tuple[Member, ...]


class Groups:
    def __init__(self, kafka: Kafka, answer_within_s: float = ANSWER_WITHIN_S) -> None:
        self._kafka = kafka
        self._within_s = answer_within_s
        self._client = make_admin_client(kafka)

    def names(self) -> tuple[str, ...]:
        """All groups that we have the right to describe."""
        answer = self._answer(
            self._client.list_consumer_groups(request_timeout=self._within_s),
            "list the consumer groups",
            "Describe on the groups",
        )
        return tuple(sorted(group.group_id for group in answer.valid))

    def describe(self, group: str) -> GroupDescription | None:
        """Returns None if there is no such group, or none with members or offsets."""
        asked = self._client.describe_consumer_groups([group], request_timeout=self._within_s)
        found = self._answer(asked[group], f"describe the group {group}", f"Describe on the group {group}")
        if found.state == ConsumerGroupState.DEAD:
            return None
        return GroupDescription(
            state=found.state.name.lower().replace("_", " "),
            protocol=found.type.name.lower(),
            assignor=found.partition_assignor,
            members=tuple(sorted((_member(each) for each in found.members), key=lambda member: member.id)),
        )

    def committed(self, group: str) -> dict[TopicPartition, int]:
        """The offsets that the group has committed."""
        request = [ConsumerGroupTopicPartitions(group)]
        asked = self._client.list_consumer_group_offsets(request, request_timeout=self._within_s)
        doing = f"read the offsets of the group {group}"
        found = self._answer(asked[group], doing, f"Describe on the group {group} and its topics")
        return {
            TopicPartition(place.topic, place.partition): place.offset
            for place in found.topic_partitions
            if place.offset >= 0 and place.error is None
        }

    def look(self, group: str, admin: Admin, known: Iterable[TopicPartition] = ()) -> GroupLook:
        """The group now, with the end of each of its partitions. `known` are partitions to look at besides."""
        described = self.describe(group)
        if described is None:
            raise RestowError(f"the group {group} is gone: it has neither members nor offsets any more")
        committed = self.committed(group)
        held = {partition for member in described.members for partition in member.partitions}
        ends = admin.end_offsets(sorted({*committed, *held, *known}))
        return GroupLook(
            time.monotonic(),
            described.state,
            described.protocol,
            described.assignor,
            described.members,
            committed,
            ends,
        )

    def _answer(self, future: Any, doing: str, right: str) -> Any:
        try:
            return future.result()
        except KafkaException as exception:
            raise explained(cause(exception), doing, right, self._kafka.bootstrap) from None


def _member(found: Any) -> Member:
    held = found.assignment.topic_partitions if found.assignment is not None else ()
    partitions = sorted(TopicPartition(place.topic, place.partition) for place in held)
    return Member(found.member_id, found.client_id, found.host.lstrip("/"), tuple(partitions))
