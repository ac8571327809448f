"""How many bytes a cycle may read, learned from the cycles before. Pure; the Spark pipeline keeps one `Pace`.

A cycle takes a fixed time and a time per byte. Both are learned separately, as a line through the lengths of recent
cycles, so that a slow start or many tables make cycles longer, never shorter. While there is a backlog a cycle is as
long as it pays: until the fixed time is a small share of it. Without a backlog the limit is not reached: a cycle reads
what has arrived, and `cycle_s` passes between the beginnings of two cycles.
"""

from dataclasses import dataclass, field, replace
from typing import Final

FIXED_SHARE: Final = 0.1
"""A longer cycle would gain less than this share of throughput. Each halving doubles the length of a cycle."""
FIRST_BYTES: Final = 4_000_000.0
"""The limit of the first cycle of a process, which should commit soon: 8 MB took a cold JVM 5 s of CPU time."""
LEAST_BYTES: Final = 1_000_000.0
"""No limit is smaller, however slow a cycle was: its fixed time would be most of it."""
GROWTH: Final = 2.0
"""The limit at most doubles from cycle to cycle, so that a wrong estimate costs one cycle of twice the length."""
PROBE_EVERY: Final = 6
PROBE_SHARE: Final = 0.25
"""The first warm cycle, and one after so many full ones, reads this share of the limit: cycles of one size alone can't
tell fixed time from time per byte. It costs a sixth of three quarters of FIXED_SHARE: 1 % of the throughput."""
FIXED_GUESS_S: Final = 0.4
"""What a cycle with one table costs on one core, whatever it reads."""
GUESS_WEIGHT: Final = 0.25
"""Of a cycle: the guess decides while all cycles had one size, and little afterwards."""
FORGETTING: Final = 0.93
"""The weight of a cycle falls by this factor with each later one: a JVM becomes faster for minutes."""
LEAST_VARIABLE: Final = 0.1
"""Of the mean cost per byte, fixed time included: noise must not make bytes look free."""
SHORTEST_S: Final = 0.01
"""A shorter cycle weighs no more."""


@dataclass(frozen=True, slots=True)
class CycleCosts:
    """A weighted least-squares line through bytes and seconds of cycles, and through the guess at no bytes. An error of
    10 % weighs the same in a short cycle and in a long one."""

    cycles: float = 0.0
    weight: float = 0.0
    x: float = 0.0
    y: float = 0.0
    xx: float = 0.0
    xy: float = 0.0

    def after(self, size: float, took_s: float) -> "CycleCosts":
        took_s = max(took_s, SHORTEST_S)
        weight = took_s**-2
        return CycleCosts(
            FORGETTING * self.cycles + 1,
            FORGETTING * self.weight + weight,
            FORGETTING * self.x + weight * size,
            FORGETTING * self.y + weight * took_s,
            FORGETTING * self.xx + weight * size * size,
            FORGETTING * self.xy + weight * size * took_s,
        )

    @property
    def s_per_byte(self) -> float:
        """0 until a cycle was seen. Never more than if nothing were fixed."""
        if not self.x:
            return 0.0
        weight, y = self._with_guess()
        spread = self.xx - self.x * self.x / weight
        slope = (self.xy - self.x * y / weight) / spread if spread > 0 else 0.0
        return min(max(slope, LEAST_VARIABLE * self.y / self.x), self.y / self.x)

    @property
    def fixed_s(self) -> float:
        if not self.x:
            return FIXED_GUESS_S
        weight, y = self._with_guess()
        return max(0.0, y - self.s_per_byte * self.x) / weight

    def _with_guess(self) -> tuple[float, float]:
        guessed = GUESS_WEIGHT * self.weight / self.cycles
        return self.weight + guessed, self.y + guessed * FIXED_GUESS_S


@dataclass(frozen=True, slots=True)
class Pace:
    cycle_s: float
    longest_s: float
    most_bytes: float
    limit_bytes: float
    """Of a cycle that is no probe."""
    costs: CycleCosts = field(default_factory=CycleCosts)
    """Of warm cycles."""
    full_cycles: int = PROBE_EVERY
    """Warm ones since the last probe."""

    @classmethod
    def at_first(cls, cycle_s: float, longest_s: float, most_bytes: float) -> "Pace":
        return cls(cycle_s, max(cycle_s, longest_s), most_bytes, min(FIRST_BYTES, most_bytes))

    @property
    def bytes(self) -> float:
        """The limit of the next cycle."""
        return self._probe_bytes() if self.full_cycles >= PROBE_EVERY and self.is_warm else self.limit_bytes

    @property
    def is_warm(self) -> bool:
        """Whether a warm cycle was seen."""
        return self.costs.weight > 0

    def after(self, read_bytes: float, took_s: float, *, is_cold: bool) -> "Pace":
        """After a cycle that stored all it had planned."""
        if took_s <= 0 or read_bytes <= 0:
            return self
        if is_cold:
            return self._after_cold(read_bytes, took_s)
        learned = replace(self, costs=self.costs.after(read_bytes, took_s))
        if read_bytes < self.limit_bytes / 2:  # a probe, or all there was: it says little about the limit
            return replace(learned, full_cycles=0)
        was_probe = self.bytes != self.limit_bytes
        limit_bytes = learned._within(learned._paying_bytes())
        return replace(learned, limit_bytes=limit_bytes, full_cycles=0 if was_probe else self.full_cycles + 1)

    def after_cancelled(self) -> "Pace":
        """A command cut the cycle short and its work was lost. If more commands come, shorter cycles get through."""
        return replace(self, limit_bytes=self._within(self.limit_bytes / GROWTH))

    def expected_s(self, size: float) -> float | None:
        """How long a cycle of this size takes; None until a warm one was seen."""
        return self.costs.fixed_s + size * self.costs.s_per_byte if self.is_warm else None

    def _after_cold(self, read_bytes: float, took_s: float) -> "Pace":
        """Grows with every full cycle. It shrinks only if a cycle took longer than any may: a cold cycle says nothing
        about the next one."""
        if took_s > self.longest_s:
            allowed = max(read_bytes * self.longest_s / took_s, self.limit_bytes / GROWTH)
            return replace(self, limit_bytes=self._within(min(self.limit_bytes, allowed)))
        if read_bytes < self.limit_bytes / 2 or took_s * GROWTH > self.longest_s:
            return self
        return replace(self, limit_bytes=self._within(self.limit_bytes * GROWTH))

    def _paying_bytes(self) -> float:
        fixed_s = self.costs.fixed_s
        paying_s = min(max(fixed_s / FIXED_SHARE, self.cycle_s), self.longest_s)
        return (paying_s - min(fixed_s, paying_s / 2)) / self.costs.s_per_byte

    def _probe_bytes(self) -> float:
        """A share of the limit; if the limit is too small for that, twice as much."""
        share = max(PROBE_SHARE * self.limit_bytes, LEAST_BYTES)
        return share if share < self.limit_bytes / 2 else self._within(GROWTH * self.limit_bytes)

    def _within(self, wanted: float) -> float:
        return min(self.most_bytes, self.limit_bytes * GROWTH, max(wanted, LEAST_BYTES))
