"""The process behind `restow consumer`: the machine, its mailbox, its volume and a pipeline, in one loop.

The process carries out the machine's effects in order. While the pipeline works or waits, it calls back several times a
second; the process then polls the mailbox, the clock and the signals, so that commands and SIGTERM end an idle wait.
Requests that the brokers don't answer are retried with backoff.
"""

import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Final, assert_never

from restow.consumer.checkpoint import Checkpoint
from restow.consumer.effects import ChangeAssignment, Effect, End, RunCycle, Save, Send
from restow.consumer.events import AssignmentChanged, ClockTicked, CycleEnded, EndRequested, Event, ReadySent
from restow.consumer.machine import NONE_BROKEN, begin, step
from restow.consumer.pipeline import Pipeline
from restow.consumer.progress import Progress, refusals_line
from restow.consumer.volume import Volume
from restow.consumer.watchdog import Verdict, Watchdog
from restow.errors import RestowError
from restow.health import Health
from restow.kafka.admin import Admin
from restow.kafka.channels.consumer import Mailbox
from restow.kafka.errors import NotAllowed
from restow.kafka.outages import Outages
from restow.kafka.topics import ensure_topics, grow_topics
from restow.metrics.board import Board
from restow.metrics.cycles import ConsumerNow, CycleCounts
from restow.model import ConsumerId
from restow.protocol.field_types import BrokenTransforms
from restow.protocol.messages.consumer_events import (
    ConsumerReady,
    ConsumingRefused,
    StartConsumingEvent,
    StopConsumingEvent,
)
from restow.protocol.messages.unions import FromConsumer
from restow.protocol.platform_identity import PlatformIdentity
from restow.settings import Settings
from restow.waiting import waiting

log = logging.getLogger(__name__)

ANSWER_WITHIN_S: Final = 5.0
ENDING_PAUSE_S: Final = 0.5
"""Between retries during shutdown, when there is little time left."""
SHARE_OF_GRACE: Final = 0.3
"""The share of the grace time that shutdown spends on brokers that don't answer."""

WaitForStop = Callable[[float], bool]
"""Waits at most this many seconds, and returns whether the process should end."""


class ShutdownTimeout(RestowError):
    """The brokers did not answer during shutdown."""


class Stalled(RestowError):
    """A cycle hangs. Only a new process gets on."""


class ConsumerProcess:
    def __init__(
        self,
        settings: Settings,
        consumer: ConsumerId,
        volume: Volume,
        pipeline: Pipeline,
        mailbox: Mailbox,
        health: Health,
        wait_for_stop: WaitForStop,
        platform: PlatformIdentity | None = None,
        board: Board | None = None,
    ) -> None:
        """`board` gets its metrics."""
        self._settings, self._consumer, self._platform = settings, consumer, platform
        self._volume, self._pipeline, self._mailbox = volume, pipeline, mailbox
        self._health, self._wait_for_stop = health, wait_for_stop
        self._outages = Outages(self._pause)
        self._end_requested_s: float | None = None
        self._todo: deque[Effect] = deque()
        self._progress = Progress(time.monotonic())
        self._board = board or Board("consumer", settings.group.name, consumer)
        self._counts = CycleCounts(self._board.tallies)
        self._watchdog = Watchdog(max(settings.consumer.cycle_s, settings.consumer.longest_cycle_s))
        self._has_dumped = False
        """The stacks of the running cycle's threads."""
        self._refused: list[ConsumingRefused] = []
        """Sent since the last cycle."""

    def run(self) -> None:
        """Runs until it is asked to end and has shut down."""
        checkpoint = self._volume.read()
        self._begin(checkpoint, NONE_BROKEN)
        try:
            with waiting(f"the brokers at {self._settings.kafka.bootstrap}"):
                self._outages.until_answered(self._prepare, final=(NotAllowed,))
            self._pipeline.warm_up(self._should_end)
            self._todo.extend(self._begin(checkpoint, self._broken_transforms()))
            while self._todo:
                self._do(self._todo.popleft())
        except ShutdownTimeout as error:
            log.warning("ended without a last message to the controller: %s", error)
        else:
            log.info("ended: everything is stored and reported")

    def _begin(self, checkpoint: Checkpoint | None, broken: BrokenTransforms) -> tuple[Effect, ...]:
        """Called once more when the transforms have been tried, which takes a session of Spark."""
        rules = self._settings.consumer
        self._state, effects = begin(
            self._consumer,
            checkpoint,
            rules.report_every_s,
            broken,
            self._platform,
            rules.resume_after_s,
            rules.cycle_bytes,
        )
        if self._end_requested_s is not None:
            self._step(EndRequested())
        return effects

    def _broken_transforms(self) -> BrokenTransforms:
        if self._should_end():
            return NONE_BROKEN
        consume = self._settings.consume.items()
        # Which schemas a regular expression means shows with the first topic that matches it.
        services = [each.for_topic(name) for name, each in consume if not (name.startswith("^") and each.registry)]
        broken = self._pipeline.broken_transforms(services, self._should_end)
        for reason in broken.values():
            log.error("%s; see `restow check`, correct it, and then `restow reload`", reason)
        return broken

    def _prepare(self) -> None:
        """Makes sure that the topics exist, with a partition for this consumer, and opens the mailbox."""
        with Admin(self._settings.kafka, ANSWER_WITHIN_S) as admin:
            ensure_topics(admin, self._settings.topics)
            if self._consumer > self._settings.topics.most_consumers:
                grow_topics(admin, self._settings.topics, self._consumer)
        self._mailbox.open()

    def _do(self, effect: Effect) -> None:
        match effect:
            case Send(message):
                offset = self._outages.until_answered(lambda: self._mailbox.send(message))
                _log_sent(message, offset)
                if isinstance(message, ConsumingRefused):
                    self._refused.append(message)
                if isinstance(message, ConsumerReady):
                    self._health.ready()
                    self._step(ReadySent(offset))
            case Save(checkpoint):
                self._volume.write(checkpoint)
            case ChangeAssignment():
                self._changed(self._pipeline.change(effect))
            case RunCycle():
                self._log_refused()
                self._watchdog = self._watchdog.begun(time.monotonic())
                self._cycle_ended(self._pipeline.cycle(effect, self._poll))
            case End():
                self._log_refused()
                self._todo.clear()
            case _:
                assert_never(effect)

    def _step(self, event: Event) -> None:
        self._state, effects = step(self._state, event)
        self._todo.extend(effects)

    def _changed(self, changed: AssignmentChanged) -> None:
        self._step(changed)
        self._log_progress()

    def _cycle_ended(self, ended: CycleEnded) -> None:
        self._watchdog = self._watchdog.looked(time.monotonic()).ended(ended.records > 0)
        if self._has_dumped:
            self._has_dumped = False
            log.info("the stalled cycle has ended")
        self._progress = self._progress.with_cycle(ended)
        self._counts.ended(ended)
        self._step(ended)
        if ended.dropped:
            self._log_progress()

    def _log_progress(self) -> None:
        now_s = time.monotonic()
        log.info("%s", self._progress.line(self._state, now_s))
        self._progress = Progress(now_s)

    def _log_refused(self) -> None:
        """One line for all refusals of a change, however many commands and topics it has."""
        if self._refused:
            log.warning("%s", refusals_line(self._refused))
            self._refused.clear()

    def _poll(self) -> bool:
        """Called by the pipeline during a cycle. Sends due reports at once, and returns whether the cycle should
        end."""
        self._step(ClockTicked(time.monotonic(), self._is_stalled()))
        for letter in self._mailbox.poll():
            self._step(letter)
        self._check_for_stop()
        while self._todo:
            self._do(self._todo.popleft())
        self._volume.catch_up()
        if self._progress.is_due(time.monotonic()):
            self._log_progress()
        if self._board.is_due():
            self._board.publish(ConsumerNow(len(self._state.positions), len(self._state.failures)).samples)
        return self._state.should_end_cycle

    def _is_stalled(self) -> bool:
        """Whether the running cycle makes no progress. Raises Stalled if there is no hope for it."""
        self._watchdog = self._watchdog.looked(time.monotonic())
        verdict, running_s = self._watchdog.verdict, self._watchdog.running_s
        if verdict is Verdict.FINE:
            return False
        if not self._has_dumped:
            self._has_dumped = True
            log.error("the running cycle takes %.0f s, far longer than any before; all threads:", running_s)
            self._pipeline.dump_threads()
        if verdict is Verdict.HOPELESS:
            raise Stalled(
                f"the running cycle takes {running_s:.0f} s and makes no progress; a new process has to start"
            )
        return True

    def _should_end(self) -> bool:
        self._check_for_stop()
        return self._end_requested_s is not None

    def _check_for_stop(self) -> None:
        self._health.alive()
        if self._end_requested_s is None and self._wait_for_stop(0.0):
            self._health.ending()
            self._end_requested_s = time.monotonic()
            log.info("ending: finishing the running cycle")
            self._step(EndRequested())

    def _pause(self, seconds: float, error: RestowError) -> None:
        """Waits for the next attempt. Raises ShutdownTimeout."""
        self._health.alive()
        self._give_up_in_time(error)
        if self._end_requested_s is None:
            self._wait_for_stop(seconds)
            self._check_for_stop()
        else:
            time.sleep(ENDING_PAUSE_S)

    def _give_up_in_time(self, error: RestowError) -> None:
        if self._end_requested_s is not None:
            limit_s = SHARE_OF_GRACE * self._settings.consumer.grace_s
            if time.monotonic() - self._end_requested_s > limit_s or self._state.incarnation is None:
                raise ShutdownTimeout(str(error))


def _log_sent(message: FromConsumer, offset: int) -> None:
    match message:
        case ConsumerReady():
            held = ", ".join(map(str, message.partitions or message.claims)) or "nothing"
            verb = "claims" if message.claims else "resumes"
            log.info("consumer %d is ready, as incarnation %d, and %s %s", message.consumer, offset, verb, held)
        case StartConsumingEvent():
            where = ", ".join(f"{partition} from {at}" for partition, at in message.partitions.items())
            log.info("reading %s", where or "nothing more")
        case StopConsumingEvent():
            where = ", ".join(f"{partition} at {at}" for partition, at in message.partitions.items())
            log.info("stopped %s", where or "nothing")
        case _:
            pass
