"""`[kafka]`: the Kafka cluster, and properties for every Kafka client."""

from dataclasses import dataclass, field
from typing import Annotated

from restow.errors import InvalidInput
from restow.settings.checks import Check
from restow.settings.properties import ClientProperties

OTHER_NAMES_OF_BOOTSTRAP = ("bootstrap.servers", "metadata.broker.list")


@dataclass(frozen=True, slots=True)
class Kafka:
    """`[kafka]`: the cluster, and properties for every Kafka client."""

    bootstrap: Annotated[str, Check("one or more host:port, separated by commas", lambda text: ":" in text)]
    """Bootstrap servers, as host:port,host:port. Clients find the other brokers through them."""

    properties: ClientProperties = field(default_factory=ClientProperties)
    """Any other key of the table is a librdkafka property, such as `sasl.username = "restow"`. Every client that restow
    creates gets it, and Spark's reader what it needs of it under the Java name, so that security is configured once."""

    def __post_init__(self) -> None:
        for name in OTHER_NAMES_OF_BOOTSTRAP:
            if name in self.properties:
                raise InvalidInput(f'{name} is called bootstrap here; write bootstrap = "{self.properties[name]}"')
