"""The process behind `restow consumer`: the machine, its mailbox, its volume and a pipeline, in one loop.

Whatever the machine wants is done in order, one thing after the other. While the pipeline reads or waits it calls back
several times a second: then the mailbox, the clock and the signals are looked at, so that nobody waits for an idle
pause to end. While brokers don't answer, that is said once, and tries follow after growing pauses.
"""

import time
from collections import deque
from collections.abc import Callable
from typing import Final, TypeVar, assert_never

from restow.consumer.effects import ChangeAssignment, Effect, End, RunCycle, Save, Send
from restow.consumer.events import ClockTicked, EndRequested, Event, ReadySent
from restow.consumer.machine import begin, step
from restow.consumer.pipeline import Pipeline
from restow.consumer.volume import Volume
from restow.errors import RestowError
from restow.health import Health
from restow.kafka.admin import Admin
from restow.kafka.channels.consumer import Mailbox
from restow.kafka.topics import ensure_topics, grow_topics
from restow.model import ConsumerId
from restow.protocol.messages import (
    ConsumerReady,
    ConsumingRefused,
    FromConsumer,
    StartConsumingEvent,
    StopConsumingEvent,
)
from restow.settings import Settings

ANSWER_WITHIN_S: Final = 5.0
SHORTEST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 30.0
SHARE_OF_GRACE: Final = 0.3
"""After a request to end, so much of the grace time is given to brokers that don't answer."""

T = TypeVar("T")
ToldToStop = Callable[[float], bool]
"""Waits at most so many seconds, and says whether the process is to end."""


class GaveUp(RestowError):
    """It is to end, and the brokers don't answer."""


class ConsumerProcess:
    def __init__(
        self,
        settings: Settings,
        consumer: ConsumerId,
        volume: Volume,
        pipeline: Pipeline,
        mailbox: Mailbox,
        signs: Health,
        say: Callable[[str], None],
        told_to_stop: ToldToStop,
    ) -> None:
        self._settings, self._consumer = settings, consumer
        self._volume, self._pipeline, self._mailbox = volume, pipeline, mailbox
        self._signs, self._say, self._told_to_stop = signs, say, told_to_stop
        self._end_requested_s: float | None = None
        self._todo: deque[Effect] = deque()

    def run(self) -> None:
        """Until it was told to end and has ended."""
        self._state, effects = begin(self._consumer, self._volume.read(), self._settings.consumer.report_every_s)
        try:
            self._until_done(self._prepare)
            self._pipeline.warm_up(self._is_to_end)
            self._todo.extend(effects)
            while self._todo:
                self._do(self._todo.popleft())
        except GaveUp as error:
            self._say(f"ended without a word to the controller: {error}")
        else:
            self._say("ended: everything is stored and said")

    def _prepare(self) -> None:
        """The topics are there, with room for us, and we listen from where they end now."""
        with Admin(self._settings.kafka, ANSWER_WITHIN_S) as admin:
            ensure_topics(admin, self._settings.topics)
            if self._consumer > self._settings.topics.most_consumers:
                grow_topics(admin, self._settings.topics, self._consumer)
        self._mailbox.open()

    def _do(self, effect: Effect) -> None:
        match effect:
            case Send(message):
                offset = self._until_done(lambda: self._mailbox.send(message))
                self._say_what_was_told(message, offset)
                if isinstance(message, ConsumerReady):
                    self._signs.ready()
                    self._happens(ReadySent(offset))
            case Save(checkpoint):
                self._volume.write(checkpoint)
            case ChangeAssignment():
                self._happens(self._pipeline.change(effect))
            case RunCycle():
                self._happens(self._pipeline.cycle(effect, self._listen))
            case End():
                self._todo.clear()
            case _:
                assert_never(effect)

    def _happens(self, event: Event) -> None:
        self._state, effects = step(self._state, event)
        self._todo.extend(effects)

    def _listen(self) -> bool:
        """Whether somebody waits for the cycle to end. What is told meanwhile, reports, is told at once."""
        self._happens(ClockTicked(time.monotonic()))
        for letter in self._mailbox.poll():
            self._happens(letter)
        self._look_for_the_end()
        while self._todo:
            self._do(self._todo.popleft())
        return self._state.should_end_cycle

    def _is_to_end(self) -> bool:
        self._look_for_the_end()
        return self._end_requested_s is not None

    def _look_for_the_end(self) -> None:
        self._signs.alive()
        if self._end_requested_s is None and self._told_to_stop(0.0):
            self._signs.ending()
            self._end_requested_s = time.monotonic()
            self._say("told to end: finishing what is under way")
            self._happens(EndRequested())

    def _until_done(self, act: Callable[[], T]) -> T:
        """Tries until the brokers answer, or until it is to end and that has taken too long."""
        pause_s, trouble = SHORTEST_PAUSE_S, False
        while True:
            self._signs.alive()
            try:
                result = act()
            except RestowError as error:
                if not trouble:
                    self._say(f"{error}; tries go on")
                trouble = True
                self._give_up_in_time(error)
                self._pause(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            else:
                if trouble:
                    self._say("going on: the brokers answer again")
                return result

    def _pause(self, seconds: float) -> None:
        if self._end_requested_s is None:
            self._told_to_stop(seconds)
            self._look_for_the_end()
        else:
            time.sleep(SHORTEST_PAUSE_S)

    def _give_up_in_time(self, error: RestowError) -> None:
        if self._end_requested_s is not None:
            limit_s = SHARE_OF_GRACE * self._settings.consumer.grace_s
            if time.monotonic() - self._end_requested_s > limit_s or self._state.incarnation is None:
                raise GaveUp(str(error))

    def _say_what_was_told(self, message: FromConsumer, offset: int) -> None:
        match message:
            case ConsumerReady():
                held = ", ".join(map(str, message.partitions)) or "nothing"
                self._say(f"consumer {message.consumer} is ready, as incarnation {offset}, and goes on with {held}")
            case StartConsumingEvent():
                where = ", ".join(f"{partition} from {at}" for partition, at in message.partitions.items())
                self._say(f"reading {where or 'nothing more'}")
            case StopConsumingEvent():
                where = ", ".join(f"{partition} at {at}" for partition, at in message.partitions.items())
                self._say(f"stopped {where or 'nothing'}")
            case ConsumingRefused():
                self._say(f"not reading {', '.join(map(str, message.partitions))}: {message.reason}")
            case _:
                pass
