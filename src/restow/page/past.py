"""Pictures of the past for the slider, read from the status topic when they are asked for.

One thread reads, one picture after the other: a slider that is dragged asks for many. The last ones are kept.
"""

import asyncio
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Final

from restow.clock import as_iso
from restow.errors import RestowError
from restow.kafka.channels.status import StatusReader
from restow.page.times import utc_s
from restow.picture.parts import Assembler, plain_picture
from restow.picture.picture import Picture
from restow.protocol.json_text import as_json
from restow.settings import Settings

STEP_S: Final = 1.0
"""Times are rounded down to this, so that answers can be kept."""
KEPT_BYTES: Final = 16_000_000
MOST_WAITING: Final = 20


class Busy(RestowError):
    pass


class Past:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._thread = ThreadPoolExecutor(1, "past")
        self._waiting = 0
        self._answers: OrderedDict[float, bytes] = OrderedDict()
        self._size = 0
        self._reader: StatusReader[Picture] | None = None
        self._ending = ExitStack()

    def close(self) -> None:
        self._thread.shutdown(cancel_futures=True)
        self._ending.close()

    async def answer(self, time_s: float) -> bytes:
        """What /api/at answers. Raises RestowError."""
        step = time_s // STEP_S * STEP_S
        if step not in self._answers:
            if self._waiting >= MOST_WAITING:
                raise Busy("too many pictures of the past were asked for at once; ask again in a moment")
            self._waiting += 1
            try:
                text = await asyncio.get_running_loop().run_in_executor(self._thread, self._read, step)
            finally:
                self._waiting -= 1
            self._keep(step, text)
        return self._answers[step]

    def _keep(self, step: float, text: bytes) -> None:
        self._size += len(text) - len(self._answers.pop(step, b""))
        while self._answers and self._size > KEPT_BYTES:
            self._size -= len(self._answers.popitem(last=False)[1])
        self._answers[step] = text

    def _read(self, time_s: float) -> bytes:
        """In the thread."""
        try:
            if self._reader is None:
                self._reader = self._ending.enter_context(StatusReader(self._settings, Assembler))
            picture = self._reader.as_of(round(time_s * 1000))
        except RestowError:
            self._ending.close()
            self._reader = None
            raise
        if picture is None:
            words = f"{self._settings.topics.status} has no picture of {as_iso(time_s)} or before"
            return as_json({"picture": None, "why": words})
        age_s = max(0.0, round(time_s - utc_s(picture.overview.time), 3))
        return as_json({"picture": plain_picture(picture), "age_s": age_s})
