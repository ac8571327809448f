"""The messages by sender and topic, as types."""

from restow.protocol.messages.commands import StartConsumingCommand, StateQuery, StopConsumingCommand
from restow.protocol.messages.consumer_events import (
    ConsumerReady,
    ConsumingRefused,
    StartConsumingEvent,
    StateQueryResponse,
    StopConsumingEvent,
)
from restow.protocol.messages.controller_events import (
    ControllerAlive,
    ControllerStarted,
    ControllerStopped,
    PlatformChangeIntended,
)
from restow.protocol.messages.desired import ConsumerRestart, GroupPause, PartitionPin, RecommendOnly
from restow.protocol.messages.reports import ConsumerReport
from restow.protocol.messages.service import ServiceUpdate

Command = StartConsumingCommand | StopConsumingCommand
FromConsumer = (
    StartConsumingEvent | StopConsumingEvent | ConsumingRefused | ConsumerReady | StateQueryResponse | ConsumerReport
)
OfController = ControllerStarted | ControllerAlive | ControllerStopped | PlatformChangeIntended
"""The controller's own records, on partition 0. Each is a sign of life, but for ControllerStopped."""
OnService = ServiceUpdate | GroupPause | RecommendOnly | ConsumerRestart | PartitionPin
"""The records of the service topic: all are desired state."""
Message = OfController | Command | FromConsumer | StateQuery | OnService
