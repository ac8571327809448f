"""restow keeps a Kafka consumer group exactly as large as its load needs.

The domain and the pure machines, which read no clock and no file:
errors.py, model.py     the errors, and the values that all modules share
backoff.py, text.py     exponential backoff; numbers and lists in sentences
frozen.py               changed copies of frozen dataclasses
packing/                which partition goes to which consumer
protocol/, settings/    the messages between the roles; restow.toml
monitor/                measures how fast partitions are written
controller/, consumer/  the state machines of these two roles
picture/                what the controller knows and does, for every display
metrics/                what processes tell Prometheus and probes
rivals/, advice/        how others size a group; advice about any group that was watched
starter/                a first restow.toml and transforms, from what a broker has
platform/               where consumers run: the interface, local processes, Kubernetes

The same machines under test:
simulator/, study/      a seeded world that tries to break them; the published studies

The edges:
kafka/, java/           Kafka clients and the embedded broker; Java for it and for Spark
pipeline/               Spark, Delta tables, and the light pipeline
durable.py, health.py   atomic files and locks; liveness and readiness
lifeline.py, logs.py    child processes that end with their parent; logging
loopback.py             which addresses mean this machine alone
waiting.py, scratch.py  log lines on long waits; temporary files that don't outlive a killed process
clock.py                the wall clock as text

The processes and the command line:
roles/, demo/           the process of each role; the demonstration
page/                   the group in a browser
throughput/, handover/  one consumer at full load, and a group that changes, each beside its peers
cli/, __main__.py       the command `restow`
"""

__version__ = "0.1.0"
