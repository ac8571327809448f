"""A thread that asks the brokers what the group's picture needs, so that the controller's loop never waits for it.

The controller asks one set of questions at a time and fetches the answers in a later round. Both are frozen values; the
thread has its own clients, and knows nothing of the controller's state.
"""

import logging
import queue
import threading
import time
from collections.abc import Hashable
from contextlib import closing
from datetime import datetime
from typing import Final

from restow.backoff import News
from restow.errors import RestowError
from restow.kafka.admin import Admin
from restow.kafka.channels.history import read_history
from restow.kafka.errors import NotAllowed
from restow.kafka.first_unread import FirstUnreadRecords
from restow.kafka.offsets import GroupOffsets
from restow.kafka.retentions import retentions_of
from restow.model import FirstUnread, Retention, TopicPartition
from restow.picture.offset_history import LONGEST_S, OffsetHistory, Sample
from restow.picture.questions import Answers, Questions
from restow.settings import Settings

log = logging.getLogger(__name__)

CLIENT: Final = "controller"
"""As the controller's own client is called: it has the rights for this name."""
ANSWER_WITHIN_S: Final = 5.0
END_WITHIN_S: Final = 6.0
"""A little more than the longest request."""
FORBIDDEN_FOR_S: Final = 300.0
"""A topic that may not be read is asked for again after this."""
RESTORED_OFFSETS: Final = 300_000
"""How many end offsets of the past are decoded at the start: about a second of CPU. A group of 10,000 partitions then
has 30 samples of the five minutes before."""


class Lookups:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._questions: queue.SimpleQueue[Questions | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Answers] = queue.SimpleQueue()
        self._is_over = threading.Event()
        self._is_busy = False
        self._news = News()
        self._forbidden: dict[str, float] = {}
        """Topics that may not be read, and until when they are not asked for."""
        self._thread = threading.Thread(target=self._run, name="lookups", daemon=True)

    def start(self) -> None:
        """Begins with the history of end offsets."""
        self._is_busy = True
        self._thread.start()

    def ask(self, questions: Questions) -> bool:
        """Returns False if the last questions are not answered yet: ask again later."""
        if self._is_busy:
            return False
        self._is_busy = True
        self._questions.put(questions)
        return True

    def answers(self) -> Answers | None:
        """The answers to the last questions, once. Returns None while there are none. Never waits."""
        try:
            answers = self._answers.get_nowait()
        except queue.Empty:
            return None
        self._is_busy = False
        return answers

    def close(self) -> None:
        if not self._thread.is_alive():
            return
        self._is_over.set()
        self._questions.put(None)
        self._thread.join(END_WITHIN_S)

    def _run(self) -> None:
        kafka, group = self._settings.kafka, self._settings.group.name
        self._answers.put(Answers(history=self._history()))
        with (
            Admin(kafka, ANSWER_WITHIN_S) as admin,
            closing(FirstUnreadRecords(kafka, f"{group}-{CLIENT}")) as records,
            closing(GroupOffsets(kafka, group)) as offsets,
        ):
            while (questions := self._questions.get()) is not None and not self._is_over.is_set():
                self._answers.put(
                    Answers(
                        questions,
                        self._first_unread(records, questions),
                        self._committed(offsets, questions),
                        self._retentions(admin, questions),
                    )
                )

    def _history(self) -> tuple[Sample, ...]:
        """As much of the last five minutes on the monitor topic as is cheap to read."""
        history, last_s = OffsetHistory(), 0.0
        since_s = time.time() - LONGEST_S
        every_s = 0.0

        def is_due(record_s: float) -> bool:
            return not self._is_over.is_set() and record_s - last_s >= every_s

        try:
            for measurement in read_history(self._settings, round(since_s * 1000), CLIENT, is_due):
                ends = {partition: speed.readable_end for partition, speed in measurement.partitions.items()}
                last_s = datetime.fromisoformat(measurement.time).timestamp()
                history.add(last_s, ends)
                every_s = LONGEST_S * len(ends) / RESTORED_OFFSETS
        except RestowError as error:
            log.info("%s; seconds behind are known from record timestamps until the monitor has measured again", error)
        return history.samples

    def _first_unread(self, records: FirstUnreadRecords, questions: Questions) -> dict[TopicPartition, FirstUnread]:
        now_s = time.monotonic()
        asked = {
            partition: position
            for partition, position in questions.positions.items()
            if self._forbidden.get(partition.topic, 0.0) <= now_s
        }
        found, errors = records.at(asked, self._is_over.is_set)
        for topic, error in sorted(errors.items()):
            if isinstance(error, NotAllowed):
                self._forbidden[topic] = now_s + FORBIDDEN_FOR_S
            self._said(
                ("records", topic), error, "until then seconds behind are not known where they exceed five minutes"
            )
        for topic in {partition.topic for partition in found}:
            self._news.is_over(("records", topic))
        return found

    def _committed(self, offsets: GroupOffsets, questions: Questions) -> dict[TopicPartition, int]:
        try:
            found = offsets.committed(questions.unplaced)
        except RestowError as error:
            self._said("committed", error, "until then the lag of partitions that no consumer reads is not known")
            return {}
        self._news.is_over("committed")
        return found

    def _retentions(self, admin: Admin, questions: Questions) -> dict[str, Retention]:
        found, error = retentions_of(admin.topic_configs(questions.topics))
        if error is not None:
            self._said("retentions", error, "until then margins to retention are not known")
        else:
            self._news.is_over("retentions")
        return found

    def _said(self, subject: Hashable, error: RestowError, consequence: str) -> None:
        """Logs a missing right once. An outage passes, and the controller logs its own."""
        if isinstance(error, NotAllowed) and self._news.is_new(subject, str(error)):
            log.warning("%s; %s", error, consequence)
