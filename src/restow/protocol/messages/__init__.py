"""The messages of the protocol: frozen dataclasses, validated on construction. Commands are imperatives, events facts.

Commands are fenced. `epoch` is the offset of the controller's ControllerStarted on partition 0 of the controller topic;
`sequence` counts the commands to one consumer within an epoch. Each start of a consumer's process is an *incarnation*,
numbered by the offset of its ConsumerReady on the same partition. Both numbers only grow, without a clock or a store.
A command names the incarnation it is for, so that a stale process ignores it.

commands.py           what the controller sends to a consumer: start, stop, query
consumer_events.py    what a consumer says of itself and answers: ready, started, stopped, refused, what it holds
reports.py            a consumer's report: lag, throughput, gaps, failures, rejected records, work
controller_events.py  the controller's own records: started, alive, stopped, a change of the platform
service.py            the desired state of a topic or of all consumers
desired.py            what else people want of the group: pause, recommend only, restarts, pins
unions.py             the messages by sender and topic, as types

The monitor's message is `Measurement` (protocol/measurement.py).
"""
