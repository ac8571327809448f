"""Schedules: windows of time with limits of their own, or in which the group is held, as for nights and freezes.

The process resolves time zones and computes the next windows in UTC (`planned`); the machine gets them as an event, and
ClockTicked's wall clock opens and closes them. So a replay needs no time zones. Limits that a person has put on the
service topic take precedence over a schedule, and a schedule over restow.toml's own limits. Of windows that overlap,
the highest `least` and the lowest `most` apply.
"""

from collections.abc import Callable, Sequence
from typing import Final

from restow.controller import holds
from restow.controller.events import SchedulePlanned, Window
from restow.controller.transition import Transition
from restow.controller.transitions import Cause, Stage
from restow.settings import Schedule
from restow.settings.cron import Cron, begins, civil, duration_s

SCHEDULE: Final = "schedule"
"""The flag of an open window."""
AHEAD_S: Final = 26 * 3600.0
"""How far ahead windows are planned: the process plans them again every hour."""
DAY_S: Final = 86_400
BEHIND_S: Final = 3 * 3600.0
"""How far back, besides those that are open: the wall clock may be set back."""

Offset = Callable[[float], float]
"""Seconds by which local time is ahead of UTC, at a time in UTC."""


def planned(schedules: Sequence[Schedule], offsets: Sequence[Offset], utc_s: float) -> SchedulePlanned:
    """The windows of the next day, and those that are open."""
    windows = [
        Window(schedule.cron, begin_s, begin_s + lasts_s, schedule.least, schedule.most, schedule.hold)
        for schedule, offset_s in zip(schedules, offsets, strict=True)
        for lasts_s in (duration_s(schedule.for_),)
        for begin_s in begins(Cron.parse(schedule.cron), offset_s, utc_s - BEHIND_S - lasts_s, utc_s + AHEAD_S)
    ]
    return SchedulePlanned(tuple(sorted(windows, key=lambda window: (window.begin_s, window.end_s, window.cron))))


def open_at(windows: Sequence[Window], utc_s: float) -> tuple[Window, ...]:
    """Those that are open."""
    return tuple([each for each in windows if each.begin_s <= utc_s < each.end_s])  # every tick asks for it


def plan(transition: Transition, event: SchedulePlanned) -> None:
    transition.set(windows=event.windows)
    tick(transition)


def tick(transition: Transition) -> None:
    """Opens and closes windows by the wall clock."""
    state = transition.state
    now = () if state.utc_s is None else open_at(state.windows, state.utc_s)
    if now == state.open_windows:
        return
    was_held = any(window.hold for window in state.open_windows)
    transition.set(open_windows=now)
    _flag(transition)
    is_held = any(window.hold for window in now)
    if is_held and not was_held and state.stage is Stage.MANAGE:
        transition.replan_cause = Cause.HELD
    elif state.stage is not Stage.SYNCHRONIZE:
        holds.look_again(transition, Cause.RESUMED if was_held and not is_held else Cause.LIMITS)


def _flag(transition: Transition) -> None:
    windows = transition.state.open_windows
    if windows:
        transition.flag(SCHEDULE, "; ".join(words(window) for window in windows))
    else:
        transition.clear(SCHEDULE, "no window is open")


def words(window: Window) -> str:
    """at least 1 and at most 4 consumers until 2026-03-02 05:00 UTC, by cron 0 22 * * *."""
    limits = [
        *([] if window.least is None else [f"at least {window.least}"]),
        *([] if window.most is None else [f"at most {window.most}"]),
    ]
    what = [*([f"{' and '.join(limits)} consumers"] if limits else []), *([holds.LEFT_ALONE] if window.hold else [])]
    return f"{', '.join(what) or 'nothing changes'} until {_clock(window.end_s)}, by cron {window.cron}"


def _clock(utc_s: float) -> str:
    days, second = divmod(int(utc_s), DAY_S)
    year, month, day = civil(days)
    return f"{year}-{month:02}-{day:02} {second // 3600:02}:{second // 60 % 60:02} UTC"
