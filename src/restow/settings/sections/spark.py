"""`[spark]`: the Spark session of each consumer."""

from dataclasses import dataclass, field
from typing import Annotated

from restow.errors import InvalidInput
from restow.settings.checks import Check
from restow.settings.properties import ClientProperties


@dataclass(frozen=True, slots=True)
class Spark:
    """`[spark]`: the Spark session in which each consumer runs its transforms."""

    master: Annotated[str, Check("local[N], spark://host:port, k8s://... or yarn", bool)] | None = None
    """Spark's master. Without it, Spark runs inside the consumer's process with one thread per core."""

    packages: tuple[Annotated[str, Check("group:artifact:version", lambda name: name.count(":") == 2)], ...] = ()
    """Maven coordinates of jars that transforms need. Spark fetches them and their dependencies when it starts."""

    properties: ClientProperties = field(default_factory=ClientProperties)
    """Any other key is a property: of the session if it starts with `spark.`, like `spark.sql.session.timeZone =
    "UTC"`; of the Java consumer with which Spark reads if it starts with `kafka.`, like `kafka.max.poll.records =
    2000`."""

    def __post_init__(self) -> None:
        for name in self.properties:
            if not name.startswith(("spark.", "kafka.")):
                raise InvalidInput(
                    f"there is no setting '{name}'; known are master and packages, and properties that start with "
                    "spark. or kafka."
                )

    def of_session(self) -> dict[str, str]:
        return {name: value for name, value in self.properties.items() if name.startswith("spark.")}

    def of_reader(self) -> dict[str, str]:
        return {name: value for name, value in self.properties.items() if name.startswith("kafka.")}
