"""What can be wrong with a cluster, each in a line that a person can act on.

RestowError
├── NoAnswer      no broker answers, or not in time: worth another try later
├── NotAllowed    a right is missing, or the name and password are wrong: the message names the right
├── NoSuchTopic   a topic isn't there (any more)
└── RequestRefused       the brokers said no for any other reason, in their own words
"""

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


SILENT: Final = frozenset(
    [
        KafkaError._TRANSPORT,
        KafkaError._TIMED_OUT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._RESOLVE,
        KafkaError._WAIT_COORD,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.NOT_CONTROLLER,
        KafkaError.NETWORK_EXCEPTION,
    ]
)
FORBIDDEN: Final = frozenset(
    [
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ]
)
UNAUTHENTICATED: Final = frozenset([KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED])
UNKNOWN: Final = frozenset([KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION])


def cause(exception: KafkaException) -> KafkaError:
    """What librdkafka's exceptions carry."""
    error: KafkaError = exception.args[0]
    return error


def explained(error: KafkaError, doing: str, right: str, bootstrap: str) -> RestowError:
    """`doing` follows "can't": "create the topic orders". `right` is what a principal needs for it: "Create on …"."""
    code = error.code()
    if code in UNAUTHENTICATED:
        return NotAllowed(f"{bootstrap} doesn't let us in: {error.str()}; check sasl.* and ssl.* in [kafka]")
    if code in FORBIDDEN:
        return NotAllowed(f"can't {doing}: the right {right} is missing; grant it to the principal in [kafka]")
    if code in UNKNOWN:
        return NoSuchTopic(f"can't {doing}: there is no such topic")
    if code in SILENT:
        return NoAnswer(f"can't {doing}: {bootstrap} doesn't answer ({error.str()})")
    return RequestRefused(f"can't {doing}: {error.str()}")
