"""What can go wrong with a cluster, as errors that say what to do.

RestowError
├── NoAnswer        no broker answers, or not in time: a retry may succeed
├── NotAllowed      a right is missing, which the message names, or the credentials are wrong
├── NoSuchTopic     a topic doesn't exist (any more)
└── RequestRefused  the brokers refused for another reason, in their own words
"""

import re
from typing import Final

from confluent_kafka import KafkaError, KafkaException

from restow.errors import RestowError


class NoAnswer(RestowError):
    pass


class NotAllowed(RestowError):
    pass


class NoSuchTopic(RestowError):
    pass


class RequestRefused(RestowError):
    pass


UNREACHABLE: Final = frozenset(
    [
        KafkaError._TRANSPORT,
        KafkaError._TIMED_OUT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._RESOLVE,
        KafkaError._SSL,
        KafkaError._WAIT_COORD,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.NOT_CONTROLLER,
        KafkaError.NETWORK_EXCEPTION,
    ]
)
UNCONNECTED: Final = frozenset([KafkaError._TRANSPORT, KafkaError._RESOLVE, KafkaError._SSL])
"""Why a connection doesn't come about: refused, an unknown host name, a failed handshake. Each may pass."""
FORBIDDEN: Final = frozenset(
    [
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ]
)
UNAUTHENTICATED: Final = frozenset([KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED])
UNKNOWN_TOPIC: Final = frozenset(
    [KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION]
)


def cause(exception: KafkaException) -> KafkaError:
    """The KafkaError inside librdkafka's exception."""
    error: KafkaError = exception.args[0]
    return error


def ends_reading(error: KafkaError) -> bool:
    """Whether a client that reads partitions without joining a group can't go on. It may not be allowed to describe the
    group whose name librdkafka demands, and does not need to."""
    return not error.retriable() and error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED


def explained(error: KafkaError, doing: str, right: str, bootstrap: str) -> RestowError:
    """Turns librdkafka's error into one of ours. `doing` completes "can't …": "create the topic orders"; `right` is the
    ACL that it needs: "Create on the topic orders"."""
    code = error.code()
    if code in UNAUTHENTICATED:
        return NotAllowed(f"{bootstrap} rejects our credentials: {error.str()}; check sasl.* and ssl.* in [kafka]")
    if code in FORBIDDEN:
        return NotAllowed(f"can't {doing}: the right {right} is missing; grant it to the principal in [kafka]")
    if code in UNKNOWN_TOPIC:
        what = "partition" if code == KafkaError._UNKNOWN_PARTITION else "topic"
        return NoSuchTopic(f"can't {doing}: there is no such {what}")
    if code in UNREACHABLE:
        return NoAnswer(f"can't {doing}: {bootstrap} doesn't answer ({_untimed(error.str())})")
    return RequestRefused(f"can't {doing}: {error.str()}")


def _untimed(words: str) -> str:
    """Without librdkafka's own bookkeeping: the name of the connection, and how often and how long it failed."""
    return re.sub(r"^\S+/bootstrap: | \(after \d+ms in state .*\)$", "", words)
