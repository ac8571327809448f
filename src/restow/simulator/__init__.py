"""The simulator: the real machines in a seeded world that tries to break them. No Kafka client, no real clock.

scenario.py     what a run simulates; whatever is not given is drawn from the seed
world.py        the simulated world; `run(scenario)` is the entry
agenda.py       the event queue, in simulated seconds
topics.py       Kafka: transactions, fencing, delays, duplicates, outages
wire.py         records as messages or as the protocol's bytes
data.py         what producers have written to each partition
workloads.py    how fast they write
sinks.py        tables that refuse late writes, and ordinary sinks
platform.py     runs consumers, like processes/ and kubernetes/
processes.py    what the processes share: each may crash or hang after any step
controller.py   a controller process
consumer.py     a consumer process
cycles.py       its cycles: read, store, wait for more
ranges.py       what a cycle reads of each partition
monitor.py      a monitor process
machines.py     how fast consumers' machines are, where capacities are learned
faults/         what goes wrong, by what it hits
people.py       what people ask of the group: pins and restarts
orders.py       what people do: pauses, recommend only, limits
drawing.py      schedules acts of random kinds, for orders.py and crises.py
crises.py       what goes wrong around a crash: no controller, poison, a claim that crosses a takeover
checkers/       what must never happen, one checker per property
coverage.py     which events, effects, transitions and faults have occurred
measures.py     cost, moves, pauses, latency and backlog over time
summary.py      the measures of a run in a dozen numbers
"""
