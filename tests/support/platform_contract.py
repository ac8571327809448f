"""The contract of every platform. The tests of an implementation subclass `PlatformContract`, with a `platform_maker`.

The maker owns the time: a real platform waits, the simulator's advances its own clock.
"""

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Protocol

import pytest

from restow.model import ConsumerId
from restow.platform.interface import (
    ConsumerCrashed,
    ConsumerFailing,
    ConsumerGone,
    ConsumerUp,
    CreateConsumer,
    DeleteConsumer,
    Listed,
    Platform,
    PlatformChange,
    PlatformRefusal,
    RefusedRequest,
    RestartConsumer,
)
from restow.protocol.consumer_settings import ConsumerSettings

GROUP, OTHER_GROUP = "a", "a-consumer-1"
"""Consumers of the second have names that start like those of the first."""

ONE, TWO, TEN = ConsumerId(1), ConsumerId(2), ConsumerId(10)


class PlatformMaker(Protocol):
    """A place for consumers, and what a test can do there behind the platform's back."""

    well: ConsumerSettings
    """Of a consumer that runs until it is asked to end."""
    stubborn: ConsumerSettings
    """Of a consumer that ends only after its grace time."""
    failing: ConsumerSettings
    """Of a consumer that crashes whenever it is started."""

    def make(self, group: str = GROUP) -> Platform:
        """A new platform object for the same place."""

    def advance(self, condition: Callable[[], object]) -> None:
        """Lets time pass until the condition holds; fails if it takes too long."""

    def process(self, consumer: ConsumerId) -> Hashable | None:
        """The working process of a consumer; None if there is none."""

    def crash(self, consumer: ConsumerId) -> None: ...

    def write(self, consumer: ConsumerId, text: str) -> None:
        """To its volume."""

    def read(self, consumer: ConsumerId) -> str:
        """From its volume."""


class Watched:
    """A platform, and all changes that it has reported."""

    def __init__(self, maker: PlatformMaker, group: str = GROUP) -> None:
        self.platform = maker.make(group)
        self.reported: list[PlatformChange] = []
        self._maker = maker

    def listed(self) -> tuple[Listed, ...]:
        """What the platform lists, without the settings."""
        return tuple(replace(each, settings=None) for each in self.platform.list())

    def settings(self) -> dict[ConsumerId, str | None]:
        return {each.consumer: each.settings for each in self.platform.list()}

    def until_reported(self, *changes: PlatformChange) -> None:
        """Exactly these, since this object was made."""
        self.until(lambda: len(self.reported) >= len(changes))
        assert self.reported == [*changes]

    def until_crashed_and_up(self) -> None:
        """Exactly this was reported since this object was made: it was up, crashed, and is up again."""
        self.until(lambda: self.reported[1:].count(ConsumerUp(ONE)))
        assert [type(change) for change in self.reported] == [ConsumerUp, ConsumerCrashed, ConsumerUp]

    def until(self, condition: Callable[[], object]) -> None:
        def collect() -> object:
            self.reported += self.platform.changes()
            return condition()

        self._maker.advance(collect)

    def until_works(self, consumer: ConsumerId, instead_of: Hashable | None = None) -> Hashable:
        """Returns the consumer's process when it works."""
        self.until(lambda: self._maker.process(consumer) not in (None, instead_of))
        return self._maker.process(consumer)


class PlatformContract:
    @pytest.fixture
    def watched(self, platform_maker: PlatformMaker) -> Watched:
        return Watched(platform_maker)

    def test_a_new_group_is_empty(self, watched: Watched) -> None:
        assert watched.listed() == ()
        assert watched.platform.changes() == ()

    def test_a_created_consumer_is_listed_at_once_and_comes_up(
        self, watched: Watched, platform_maker: PlatformMaker
    ) -> None:
        watched.platform.create(ONE, platform_maker.well)
        assert watched.listed() == (Listed(ONE),)
        watched.until_works(ONE)
        watched.until_reported(ConsumerUp(ONE))
        assert watched.listed() == (Listed(ONE),)

    def test_creating_a_consumer_twice_leaves_the_first_as_it_is(
        self, watched: Watched, platform_maker: PlatformMaker
    ) -> None:
        watched.platform.create(ONE, platform_maker.well)
        watched.platform.create(ONE, platform_maker.well)
        process = watched.until_works(ONE)
        watched.platform.create(ONE, platform_maker.failing)
        watched.platform.create(TWO, platform_maker.well)
        watched.until_reported(ConsumerUp(ONE), ConsumerUp(TWO))
        assert platform_maker.process(ONE) == process
        assert watched.listed() == (Listed(ONE), Listed(TWO))

    def test_a_deleted_consumer_is_leaving_until_it_is_gone(
        self, watched: Watched, platform_maker: PlatformMaker
    ) -> None:
        watched.platform.create(ONE, platform_maker.stubborn)
        watched.until_works(ONE)
        watched.platform.delete(ONE)
        assert watched.listed() == (Listed(ONE, leaving=True),)
        assert platform_maker.process(ONE) is not None
        watched.until_reported(ConsumerUp(ONE), ConsumerGone(ONE))
        assert platform_maker.process(ONE) is None
        assert watched.listed() == ()

    def test_a_leaving_consumer_can_only_be_deleted_again(
        self, watched: Watched, platform_maker: PlatformMaker
    ) -> None:
        watched.platform.create(ONE, platform_maker.stubborn)
        watched.until_works(ONE)
        watched.platform.delete(ONE)
        watched.platform.delete(ONE)
        with pytest.raises(PlatformRefusal):
            watched.platform.create(ONE, platform_maker.well)
        with pytest.raises(PlatformRefusal):
            watched.platform.restart(ONE, platform_maker.well)
        watched.until_reported(ConsumerUp(ONE), ConsumerGone(ONE))

    def test_several_requests_are_taken_together_and_refused_one_by_one(
        self, watched: Watched, platform_maker: PlatformMaker
    ) -> None:
        well = platform_maker.well
        assert watched.platform.at_once >= 1
        refused = watched.platform.take(
            (CreateConsumer(TEN, well), RestartConsumer(TWO, well), CreateConsumer(ONE, well), DeleteConsumer(TWO))
        )
        assert [one.request for one in refused] == [RestartConsumer(TWO, well)]
        assert watched.listed() == (Listed(ONE), Listed(TEN))
        watched.until(lambda: {*watched.reported} == {ConsumerUp(ONE), ConsumerUp(TEN)})
        assert watched.platform.take(()) == ()

    def test_requests_for_one_consumer_are_taken_in_order(
        self, watched: Watched, platform_maker: PlatformMaker
    ) -> None:
        well = platform_maker.well
        refused = watched.platform.take(
            (CreateConsumer(ONE, platform_maker.stubborn), RestartConsumer(ONE, well), CreateConsumer(ONE, well))
        )
        assert refused == ()
        assert watched.listed() == (Listed(ONE),)
        watched.until_works(ONE)
        refused = watched.platform.take(
            (RestartConsumer(ONE, platform_maker.stubborn), DeleteConsumer(ONE), DeleteConsumer(ONE))
        )
        assert refused == ()
        watched.until(lambda: ConsumerGone(ONE) in watched.reported)
        assert watched.listed() == ()

    def test_a_request_refused_among_several_has_the_same_reason_as_alone(
        self, watched: Watched, platform_maker: PlatformMaker
    ) -> None:
        with pytest.raises(PlatformRefusal) as alone:
            watched.platform.restart(TWO, platform_maker.well)
        request = RestartConsumer(TWO, platform_maker.well)
        assert watched.platform.take((request,)) == (RefusedRequest(request, str(alone.value)),)

    def test_a_missing_consumer_can_be_deleted_but_not_restarted(
        self, watched: Watched, platform_maker: PlatformMaker
    ) -> None:
        watched.platform.delete(ONE)
        with pytest.raises(PlatformRefusal):
            watched.platform.restart(ONE, platform_maker.well)
        assert watched.listed() == ()
        assert watched.platform.changes() == ()

    def test_a_restart_gives_a_new_process_on_the_old_volume(
        self, watched: Watched, platform_maker: PlatformMaker
    ) -> None:
        watched.platform.create(ONE, platform_maker.well)
        process = watched.until_works(ONE)
        platform_maker.write(ONE, "kept")
        watched.platform.restart(ONE, platform_maker.well)
        watched.until_reported(ConsumerUp(ONE), ConsumerUp(ONE))
        watched.until_works(ONE, instead_of=process)
        assert platform_maker.read(ONE) == "kept"
        assert watched.listed() == (Listed(ONE),)

    def test_a_restart_brings_new_settings(self, watched: Watched, platform_maker: PlatformMaker) -> None:
        watched.platform.create(ONE, platform_maker.failing)
        watched.until(lambda: any(isinstance(change, ConsumerFailing) for change in watched.reported))
        watched.platform.restart(ONE, platform_maker.well)
        watched.reported.clear()
        watched.until_works(ONE)
        watched.platform.create(TWO, platform_maker.well)
        watched.until(lambda: ConsumerUp(TWO) in watched.reported)
        assert watched.reported[-2:] == [ConsumerUp(ONE), ConsumerUp(TWO)]

    def test_a_list_has_the_settings_of_the_creation_or_the_last_restart(
        self, watched: Watched, platform_maker: PlatformMaker
    ) -> None:
        well, stubborn = platform_maker.well, platform_maker.stubborn
        watched.platform.create(ONE, well)
        watched.platform.create(TWO, stubborn)
        watched.platform.create(ONE, stubborn)  # it exists already, and is left as it is
        assert watched.settings() == {ONE: well.fingerprint, TWO: stubborn.fingerprint}
        process = watched.until_works(ONE)
        watched.platform.restart(ONE, stubborn)
        watched.until_works(ONE, instead_of=process)
        assert watched.settings() == {ONE: stubborn.fingerprint, TWO: stubborn.fingerprint}
        assert Watched(platform_maker).settings() == watched.settings()

    def test_a_crashed_consumer_comes_up_again_on_its_volume(
        self, watched: Watched, platform_maker: PlatformMaker
    ) -> None:
        watched.platform.create(ONE, platform_maker.well)
        process = watched.until_works(ONE)
        platform_maker.write(ONE, "kept")
        platform_maker.crash(ONE)
        watched.until_crashed_and_up()
        watched.until_works(ONE, instead_of=process)
        assert platform_maker.read(ONE) == "kept"

    def test_a_consumer_that_crashes_repeatedly_is_failing_and_stays_listed(
        self, watched: Watched, platform_maker: PlatformMaker
    ) -> None:
        watched.platform.create(ONE, platform_maker.failing)
        watched.until(lambda: any(isinstance(change, ConsumerFailing) for change in watched.reported))
        assert watched.listed() == (Listed(ONE),)
        watched.platform.delete(ONE)
        watched.until(lambda: ConsumerGone(ONE) in watched.reported)
        assert watched.reported[-1] == ConsumerGone(ONE)
        assert watched.listed() == ()

    def test_a_deletion_touches_no_other_consumer(self, watched: Watched, platform_maker: PlatformMaker) -> None:
        for consumer in (TEN, TWO, ONE):
            watched.platform.create(consumer, platform_maker.well)
        assert watched.listed() == (Listed(ONE), Listed(TWO), Listed(TEN))
        processes = watched.until_works(ONE), watched.until_works(TEN)
        watched.platform.delete(TWO)
        watched.until(lambda: ConsumerGone(TWO) in watched.reported)
        assert watched.listed() == (Listed(ONE), Listed(TEN))
        assert (platform_maker.process(ONE), platform_maker.process(TEN)) == processes

    def test_a_number_can_be_reused_when_its_last_consumer_is_gone(
        self, watched: Watched, platform_maker: PlatformMaker
    ) -> None:
        for _ in range(2):
            watched.platform.create(ONE, platform_maker.well)
            watched.until(lambda: ConsumerUp(ONE) in watched.reported)
            watched.platform.delete(ONE)
            watched.until(lambda: ConsumerGone(ONE) in watched.reported)
            assert watched.reported == [ConsumerUp(ONE), ConsumerGone(ONE)]
            watched.reported.clear()

    def test_another_group_is_invisible(self, watched: Watched, platform_maker: PlatformMaker) -> None:
        other = Watched(platform_maker, OTHER_GROUP)
        other.platform.create(ONE, platform_maker.well)
        other.until_reported(ConsumerUp(ONE))
        watched.platform.create(TWO, platform_maker.well)
        watched.until_reported(ConsumerUp(TWO))
        watched.platform.delete(ONE)
        assert (watched.listed(), other.listed()) == ((Listed(TWO),), (Listed(ONE),))
        watched.platform.delete(TWO)
        watched.until_reported(ConsumerUp(TWO), ConsumerGone(TWO))
        assert other.platform.changes() == ()
        other.platform.delete(ONE)
        other.until_reported(ConsumerUp(ONE), ConsumerGone(ONE))

    def test_a_second_platform_object_lists_the_same_and_reports_later_changes(
        self, watched: Watched, platform_maker: PlatformMaker
    ) -> None:
        watched.platform.create(ONE, platform_maker.well)
        watched.until_reported(ConsumerUp(ONE))
        second = Watched(platform_maker)
        assert second.listed() == watched.listed() == (Listed(ONE),)
        second.platform.create(TWO, platform_maker.well)
        for each, changes in ((watched, (ConsumerUp(ONE), ConsumerUp(TWO))), (second, (ConsumerUp(TWO),))):
            each.until_reported(*changes)
        watched.platform.delete(ONE)
        second.until_reported(ConsumerUp(TWO), ConsumerGone(ONE))
        watched.until_reported(ConsumerUp(ONE), ConsumerUp(TWO), ConsumerGone(ONE))
        assert second.listed() == watched.listed() == (Listed(TWO),)
