"""What the processes of consumers are started with. restow.toml and the service topic have it."""

import json
from dataclasses import dataclass, field

from restow.errors import InvalidInput
from restow.model import SortedMapping
from restow.protocol import checks
from restow.protocol.digests import digest
from restow.protocol.field_types import ADDED


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """The resources and environment of consumers. A field that is not set has its value from restow.toml."""

    image: str | None = None
    """The container image, where the platform runs containers."""
    memory_mb: int | None = None
    """Memory in MiB."""
    cores: float | None = None
    """CPU cores; fractions are allowed."""
    capacity_bytes_per_s: float | None = None
    """The throughput that a consumer sustains."""
    env: SortedMapping[str, str] = field(default_factory=SortedMapping)
    """Additional environment variables. Anyone who may read the topic sees them: no secrets here."""
    code: str | None = field(default=None, metadata=ADDED)
    """The digest of the transforms' modules that local consumers load. The controller finds it: no update has it."""
    least_consumers: int | None = field(default=None, metadata=ADDED)
    """The group never has fewer consumers. It overrides `least_consumers` in [controller]."""
    most_consumers: int | None = field(default=None, metadata=ADDED)
    """The group never has more consumers. It overrides `most_consumers` in [controller]."""

    def __post_init__(self) -> None:
        checks.at_least(1, memory_mb=self.memory_mb, most_consumers=self.most_consumers)
        checks.at_least(0, least_consumers=self.least_consumers)
        if self.most_consumers is not None and (self.least_consumers or 0) > self.most_consumers:
            least = self.least_consumers
            raise InvalidInput(f"most_consumers is {self.most_consumers}; it must be least_consumers ({least}) or more")
        checks.above_0(cores=self.cores, capacity_bytes_per_s=self.capacity_bytes_per_s)
        checks.variables("env", self.env)

    @property
    def fingerprint(self) -> str:
        """Changes with everything that a process is started with, and is readable: `{"image": "restow:2", …}`. It
        leaves out the capacity and the limits of the group, which change no process, and has a digest in place of the
        variables' values."""
        return self.fingerprint_with(self.env_digest)

    def fingerprint_with(self, env_digest: str) -> str:
        """The fingerprint if the variables' values had this digest."""
        cores = None if self.cores is None else float(self.cores)
        env = f"{','.join(self.env)} {env_digest}".strip()
        code = {} if self.code is None else {"code": self.code}  # without it the fingerprint is that of older versions
        return json.dumps({"image": self.image, "memory_mb": self.memory_mb, "cores": cores, "env": env, **code})

    @property
    def env_digest(self) -> str:
        return digest(*(text for pair in self.env.items() for text in pair)) if self.env else ""
