"""When a consumer warns of a full Java heap."""

from dataclasses import dataclass

import pytest

from restow.pipeline.spark.garbage import GarbageWatch


@dataclass
class Collecting:
    milliseconds: int = 0

    def getCollectionTime(self) -> int:  # noqa: N802
        return self.milliseconds


def test_a_jvm_that_does_little_but_collect_garbage_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "restow")
    young, old = Collecting(500), Collecting(9000)
    now_s = 100.0
    watch = GarbageWatch([young, old], 512_000_000, now_s)

    def after(seconds: float, *, young_s: float = 0.0, old_s: float = 0.0) -> list[str]:
        nonlocal now_s
        now_s += seconds
        young.milliseconds += round(young_s * 1000)
        old.milliseconds += round(old_s * 1000)
        caplog.clear()
        watch.look(now_s)
        return caplog.messages

    assert after(30, old_s=25) == [], "a collection may last"
    [warning] = after(30, young_s=5)
    assert warning == (
        "garbage collection took 50 % of the last 60 s: the Java heap of 512 MB is too small for what this consumer "
        "reads and does; raise memory_mb in [consumer]"
    )
    assert after(60, old_s=50) == [], "it was said"
    assert after(60, old_s=12) == [], "still more than usual"
    assert after(60, young_s=3) == ["garbage collection takes little time again"]
    assert after(60, young_s=17.9) == []
    assert len(after(60, old_s=18.1)) == 1
