"""Who may hold each partition, and which partitions wait."""

from dataclasses import dataclass, field

from restow.controller.state.members import Members
from restow.controller.state.observed import LeftOut, PartitionCrash
from restow.controller.state.pause import Pause
from restow.controller.state.view import AWAY, View
from restow.controller.transitions import Phase
from restow.model import ConsumerId, SortedMapping, TopicPartition
from restow.protocol.field_types import Offsets


@dataclass(frozen=True)
class Holdings(Members):
    known: frozenset[TopicPartition] = frozenset()
    """Every partition that was ever measured or held."""
    stopped: Offsets = field(default_factory=SortedMapping)
    """The offsets at which partitions that no consumer holds were stopped."""
    refused: SortedMapping[TopicPartition, Pause] = field(default_factory=SortedMapping)
    """Refused partitions, each with its pause."""
    failing: SortedMapping[TopicPartition, str] = field(default_factory=SortedMapping)
    """Partitions that their consumers hold but can't store, each with the reason that the last one reported."""
    left_out: SortedMapping[str, LeftOut] = field(default_factory=SortedMapping)
    """The bad records of each topic that consumers have left out of its table since this controller began."""
    crashes: SortedMapping[TopicPartition, PartitionCrash] = field(default_factory=SortedMapping)
    """The partitions whose consumers crashed lately."""
    suspects: frozenset[TopicPartition] = frozenset()
    """Partitions whose consumers crashed twice while they read them: only their own consumer reads them."""

    def holders(self) -> dict[TopicPartition, list[ConsumerId]]:
        """The consumers that may hold each partition. A lost one counts only where its late writes would be accepted:
        such a partition waits until it is gone."""
        found: dict[TopicPartition, list[ConsumerId]] = {}
        for consumer, view in self.consumers.items():
            lost = view.phase is Phase.LOST
            for partition in view.may_hold:
                if not lost or not self.is_given_up(view, partition):
                    found.setdefault(partition, []).append(consumer)
        return found

    def is_given_up(self, view: View, partition: TopicPartition) -> bool:
        """Whether another consumer may start a partition that this one may hold: it was given up, and the table refuses
        its late writes."""
        return view.phase is Phase.LOST and self.refuses_late_writes(partition.topic)

    @property
    def unknown_phases(self) -> frozenset[Phase]:
        """The phases of the consumers whose holdings are unknown."""
        return frozenset(view.phase for view in self.consumers.values() if view.is_unknown)

    def must_wait(self, partition: TopicPartition, unknown_phases: frozenset[Phase]) -> bool:
        """Whether a consumer with unknown holdings may hold the partition. A lost one counts only where its late
        writes would be accepted."""
        if unknown_phases - {Phase.LOST}:
            return True
        return bool(unknown_phases) and not self.refuses_late_writes(partition.topic)

    def contenders(self, consumers: list[ConsumerId]) -> list[ConsumerId]:
        """Filters the possible holders of a partition: consumers that leave or are lost don't count."""
        return [c for c in consumers if self.consumers[c].phase not in AWAY]

    def parked(self) -> frozenset[TopicPartition]:
        """Partitions that wait for a rolling or crashed consumer, unless another consumer turned out to hold them."""
        away = (Phase.ROLLING, Phase.CRASHED)
        waiting = self.suspects_away()
        rolling = [view for view in self.consumers.values() if view.phase is Phase.ROLLING]
        waiting = waiting.union(*(view.held_before_roll for view in rolling))
        for view in self.consumers.values():
            if view.phase is Phase.CRASHED:
                waiting = waiting.union(view.held)
        if waiting:
            others = (view for view in self.consumers.values() if view.phase not in away)
            waiting = waiting.difference(*(view.may_hold for view in others))
        return waiting

    def suspects_away(self) -> frozenset[TopicPartition]:
        """Suspects whose last consumer is rolling or has crashed. They wait for it, even if it had refused them."""
        away = {c for c, view in self.consumers.items() if view.phase in (Phase.ROLLING, Phase.CRASHED)}
        crashed = ((each, self.crashes.get(each)) for each in self.suspects)
        return frozenset(each for each, crash in crashed if crash is not None and crash.consumer in away)

    def waits_for_restart(self, partition: TopicPartition) -> bool:
        """Whether a partition waits for its crashed consumer: because its table would accept late writes of the crashed
        process, because the partition is suspected to have caused the crash, or because a person pinned it."""
        if partition in self.suspects or partition in self.desired.taken_pins:
            return True
        return not self.refuses_late_writes(partition.topic)

    def is_resting(self, partition: TopicPartition) -> bool:
        """Whether the partition was refused and its pause is not over."""
        pause = self.refused.get(partition)
        return pause is not None and self.time_s < pause.until_s
