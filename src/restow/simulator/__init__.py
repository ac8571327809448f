"""The real machines in a seeded world that tries to break them. It imports no edge: no Kafka client, no clock.

scenario.py                 what a run is about; what isn't given is drawn from the seed
agenda.py                   what happens when, in simulated seconds
topics.py, wire.py          Kafka: transactions, fencing, delays, repeats, outages; messages as values or as bytes
data.py, workloads.py       what producers write, and how fast
sinks.py                    tables that refuse late writes, and ordinary sinks
platform.py                 where consumers run
controller.py, consumer.py, monitor.py, processes.py   the processes, which may die or stand still after any step
faults.py                   what goes wrong
checkers.py, coverage.py    what must never happen; what has occurred
measures.py                 what a user wants to know
world.py                    all of it together: `run(scenario)`
"""
