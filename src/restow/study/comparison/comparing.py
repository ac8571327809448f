"""Tunes every policy on some seeds and shows it on others."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from restow.study.comparison.accounting import Outcome
from restow.study.comparison.loads import Shape
from restow.study.comparison.policies import POLICIES, Setting, chosen
from restow.study.comparison.times import Times


@dataclass(frozen=True, slots=True)
class Row:
    policy: str
    workload: str
    consumer_hours: float
    moves: int
    latency_p99_s: float
    overloaded_consumer_s: float
    setting: str
    """What it was tuned to."""

    def measured(self) -> dict[str, str | float]:
        """For --json: without the setting."""
        found = asdict(self)
        del found["setting"]
        return found


@dataclass(frozen=True)
class Job:
    """One policy over one workload. A worker process runs it."""

    policy: str
    workload: str
    shape: Shape
    times: Times
    tuned_on: tuple[int, ...]
    shown_on: tuple[int, ...]

    def run(self) -> Row:
        [policy] = [each for each in POLICIES if each.name == self.policy]
        training = [self.shape.load(self.workload, seed) for seed in self.tuned_on]
        settings = policy.settings(training[0])
        best: Setting = settings[0]
        if len(settings) > 1:
            tried = [
                (each, Outcome.mean([policy.run(load, self.times, each) for load in training])) for each in settings
            ]
            best = chosen(tried)
        shown = [policy.run(self.shape.load(self.workload, seed), self.times, best) for seed in self.shown_on]
        mean = Outcome.mean(shown)
        return Row(
            self.policy,
            self.workload,
            round(mean.consumer_hours, 2),
            mean.moves,
            round(mean.latency_p99_s, 1),
            round(mean.overloaded_consumer_s, 1),
            _words(best),
        )


def run_job(job: Job) -> Row:
    return job.run()


def jobs(
    shape: Shape, workloads: Sequence[str], times: Times, tuned_on: Sequence[int], shown_on: Sequence[int]
) -> list[Job]:
    """restow's first: they take longest."""
    return [
        Job(policy.name, workload, shape, times, tuple(tuned_on), tuple(shown_on))
        for policy in POLICIES
        for workload in workloads
    ]


def _words(setting: Setting) -> str:
    return ", ".join(
        f"{name} {value:g}" if isinstance(value, float | int) else f"{name} {value}" for name, value in setting.items()
    )
