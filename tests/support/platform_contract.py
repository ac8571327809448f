"""What every platform keeps to. An implementation's tests subclass `PlatformContract` and give it a `platform_maker`.

Time is the maker's: a real platform waits, the simulator's moves its own clock.
"""

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Protocol

import pytest

from restow.model import ConsumerId
from restow.platform.interface import (
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
from restow.protocol.messages import ConsumerSettings

GROUP, OTHER_GROUP = "a", "a-consumer-1"
"""The other's consumers have names that begin like those of the first."""

ONE, TWO, TEN = ConsumerId(1), ConsumerId(2), ConsumerId(10)


class PlatformMaker(Protocol):
    """A place for consumers, and what can be done there behind the platform's back."""

    well: ConsumerSettings
    """Of a consumer that runs until it is told to end."""
    stubborn: ConsumerSettings
    """Of one that ends only when its grace time is over."""
    failing: ConsumerSettings
    """Of one that falls whenever it is started."""

    def make(self, group: str = GROUP) -> Platform:
        """Another object for the same place."""

    def advance(self, condition: Callable[[], object]) -> None:
        """Lets time pass until the condition holds; fails when it doesn't for long."""

    def process(self, consumer: ConsumerId) -> Hashable | None:
        """Which process of the group's consumer is at its work, if one is."""

    def crash(self, consumer: ConsumerId) -> None: ...

    def write(self, consumer: ConsumerId, text: str) -> None:
        """To its volume."""

    def read(self, consumer: ConsumerId) -> str:
        """From its volume."""


class Watched:
    """A platform, and all that it has told."""

    def __init__(self, maker: PlatformMaker, group: str = GROUP) -> None:
        self.platform = maker.make(group)
        self.told: list[PlatformChange] = []
        self._maker = maker

    def listed(self) -> tuple[Listed, ...]:
        """Who is there, whatever they run by."""
        return tuple(replace(each, settings=None) for each in self.platform.list())

    def settings(self) -> dict[ConsumerId, str | None]:
        return {each.consumer: each.settings for each in self.platform.list()}

    def until_told(self, *changes: PlatformChange) -> None:
        """Exactly these, since it was made."""
        self.until(lambda: len(self.told) >= len(changes))
        assert self.told == [*changes]

    def until(self, condition: Callable[[], object]) -> None:
        def look() -> object:
            self.told += self.platform.changes()
            return condition()

        self._maker.advance(look)

    def until_works(self, consumer: ConsumerId, instead_of: Hashable | None = None) -> Hashable:
        """Its process, when that is at its work."""
        self.until(lambda: self._maker.process(consumer) not in (None, instead_of))
        return self._maker.process(consumer)


class PlatformContract:
    @pytest.fixture
    def watched(self, platform_maker: PlatformMaker) -> Watched:
        return Watched(platform_maker)

    def test_nothing_is_there_at_first(self, watched: Watched) -> None:
        assert watched.listed() == ()
        assert watched.platform.changes() == ()

    def test_what_is_created_is_listed_at_once_and_comes_up(
        self, watched: Watched, platform_maker: PlatformMaker
    ) -> None:
        watched.platform.create(ONE, platform_maker.well)
        assert watched.listed() == (Listed(ONE),)
        watched.until_works(ONE)
        watched.until_told(ConsumerUp(ONE))
        assert watched.listed() == (Listed(ONE),)

    def test_what_is_created_twice_is_there_once(self, watched: Watched, platform_maker: PlatformMaker) -> None:
        watched.platform.create(ONE, platform_maker.well)
        watched.platform.create(ONE, platform_maker.well)
        process = watched.until_works(ONE)
        watched.platform.create(ONE, platform_maker.failing)
        watched.platform.create(TWO, platform_maker.well)
        watched.until_told(ConsumerUp(ONE), ConsumerUp(TWO))
        assert platform_maker.process(ONE) == process
        assert watched.listed() == (Listed(ONE), Listed(TWO))

    def test_what_is_deleted_is_leaving_until_it_is_gone(self, watched: Watched, platform_maker: PlatformMaker) -> None:
        watched.platform.create(ONE, platform_maker.stubborn)
        watched.until_works(ONE)
        watched.platform.delete(ONE)
        assert watched.listed() == (Listed(ONE, leaving=True),)
        assert platform_maker.process(ONE) is not None
        watched.until_told(ConsumerUp(ONE), ConsumerGone(ONE))
        assert platform_maker.process(ONE) is None
        assert watched.listed() == ()

    def test_what_is_leaving_can_be_deleted_again_and_nothing_else(
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
        watched.until_told(ConsumerUp(ONE), ConsumerGone(ONE))

    def test_several_wishes_are_taken_together_and_each_is_refused_alone(
        self, watched: Watched, platform_maker: PlatformMaker
    ) -> None:
        well = platform_maker.well
        assert watched.platform.at_once >= 1
        refused = watched.platform.take(
            (CreateConsumer(TEN, well), RestartConsumer(TWO, well), CreateConsumer(ONE, well), DeleteConsumer(TWO))
        )
        assert [one.request for one in refused] == [RestartConsumer(TWO, well)]
        assert watched.listed() == (Listed(ONE), Listed(TEN))
        watched.until(lambda: {*watched.told} == {ConsumerUp(ONE), ConsumerUp(TEN)})
        assert watched.platform.take(()) == ()

    def test_several_wishes_for_one_consumer_are_taken_in_their_order(
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
        watched.until(lambda: ConsumerGone(ONE) in watched.told)
        assert watched.listed() == ()

    def test_what_is_refused_among_several_says_why(self, watched: Watched, platform_maker: PlatformMaker) -> None:
        with pytest.raises(PlatformRefusal) as alone:
            watched.platform.restart(TWO, platform_maker.well)
        wish = RestartConsumer(TWO, platform_maker.well)
        assert watched.platform.take((wish,)) == (RefusedRequest(wish, str(alone.value)),)

    def test_what_is_not_there_can_be_deleted_but_not_restarted(
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
        watched.until_told(ConsumerUp(ONE), ConsumerUp(ONE))
        watched.until_works(ONE, instead_of=process)
        assert platform_maker.read(ONE) == "kept"
        assert watched.listed() == (Listed(ONE),)

    def test_a_restart_brings_new_settings(self, watched: Watched, platform_maker: PlatformMaker) -> None:
        watched.platform.create(ONE, platform_maker.failing)
        watched.until(lambda: any(isinstance(change, ConsumerFailing) for change in watched.told))
        watched.platform.restart(ONE, platform_maker.well)
        watched.told.clear()
        watched.until_works(ONE)
        watched.platform.create(TWO, platform_maker.well)
        watched.until(lambda: ConsumerUp(TWO) in watched.told)
        assert watched.told[-2:] == [ConsumerUp(ONE), ConsumerUp(TWO)]

    def test_a_list_tells_by_which_settings_each_was_created_or_last_restarted(
        self, watched: Watched, platform_maker: PlatformMaker
    ) -> None:
        well, stubborn = platform_maker.well, platform_maker.stubborn
        watched.platform.create(ONE, well)
        watched.platform.create(TWO, stubborn)
        watched.platform.create(ONE, stubborn)  # it is there already, and is left as it is
        assert watched.settings() == {ONE: well.fingerprint, TWO: stubborn.fingerprint}
        process = watched.until_works(ONE)
        watched.platform.restart(ONE, stubborn)
        watched.until_works(ONE, instead_of=process)
        assert watched.settings() == {ONE: stubborn.fingerprint, TWO: stubborn.fingerprint}
        assert Watched(platform_maker).settings() == watched.settings()

    def test_what_crashed_comes_up_again_with_its_volume(self, watched: Watched, platform_maker: PlatformMaker) -> None:
        watched.platform.create(ONE, platform_maker.well)
        process = watched.until_works(ONE)
        platform_maker.write(ONE, "kept")
        platform_maker.crash(ONE)
        watched.until_told(ConsumerUp(ONE), ConsumerUp(ONE))
        watched.until_works(ONE, instead_of=process)
        assert platform_maker.read(ONE) == "kept"

    def test_what_falls_again_and_again_is_told_to_be_failing_and_stays_listed(
        self, watched: Watched, platform_maker: PlatformMaker
    ) -> None:
        watched.platform.create(ONE, platform_maker.failing)
        watched.until(lambda: any(isinstance(change, ConsumerFailing) for change in watched.told))
        assert watched.listed() == (Listed(ONE),)
        watched.platform.delete(ONE)
        watched.until(lambda: ConsumerGone(ONE) in watched.told)
        assert watched.told[-1] == ConsumerGone(ONE)
        assert watched.listed() == ()

    def test_what_happens_to_one_touches_no_other(self, watched: Watched, platform_maker: PlatformMaker) -> None:
        for consumer in (TEN, TWO, ONE):
            watched.platform.create(consumer, platform_maker.well)
        assert watched.listed() == (Listed(ONE), Listed(TWO), Listed(TEN))
        processes = watched.until_works(ONE), watched.until_works(TEN)
        watched.platform.delete(TWO)
        watched.until(lambda: ConsumerGone(TWO) in watched.told)
        assert watched.listed() == (Listed(ONE), Listed(TEN))
        assert (platform_maker.process(ONE), platform_maker.process(TEN)) == processes

    def test_a_number_can_be_used_again_when_its_last_owner_is_gone(
        self, watched: Watched, platform_maker: PlatformMaker
    ) -> None:
        for _ in range(2):
            watched.platform.create(ONE, platform_maker.well)
            watched.until(lambda: ConsumerUp(ONE) in watched.told)
            watched.platform.delete(ONE)
            watched.until(lambda: ConsumerGone(ONE) in watched.told)
            assert watched.told == [ConsumerUp(ONE), ConsumerGone(ONE)]
            watched.told.clear()

    def test_another_group_is_invisible(self, watched: Watched, platform_maker: PlatformMaker) -> None:
        other = Watched(platform_maker, OTHER_GROUP)
        other.platform.create(ONE, platform_maker.well)
        other.until_told(ConsumerUp(ONE))
        watched.platform.create(TWO, platform_maker.well)
        watched.until_told(ConsumerUp(TWO))
        watched.platform.delete(ONE)
        assert (watched.listed(), other.listed()) == ((Listed(TWO),), (Listed(ONE),))
        watched.platform.delete(TWO)
        watched.until_told(ConsumerUp(TWO), ConsumerGone(TWO))
        assert other.platform.changes() == ()
        other.platform.delete(ONE)
        other.until_told(ConsumerUp(ONE), ConsumerGone(ONE))

    def test_a_second_object_sees_the_same_and_hears_of_what_comes(
        self, watched: Watched, platform_maker: PlatformMaker
    ) -> None:
        watched.platform.create(ONE, platform_maker.well)
        watched.until_told(ConsumerUp(ONE))
        second = Watched(platform_maker)
        assert second.listed() == watched.listed() == (Listed(ONE),)
        second.platform.create(TWO, platform_maker.well)
        for each, told in ((watched, (ConsumerUp(ONE), ConsumerUp(TWO))), (second, (ConsumerUp(TWO),))):
            each.until_told(*told)
        watched.platform.delete(ONE)
        second.until_told(ConsumerUp(TWO), ConsumerGone(ONE))
        watched.until_told(ConsumerUp(ONE), ConsumerUp(TWO), ConsumerGone(ONE))
        assert second.listed() == watched.listed() == (Listed(TWO),)
