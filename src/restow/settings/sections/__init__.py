"""The tables of restow.toml, a module each, with the name of its table: a dataclass, and a field for each key.

The unit is in a key's name, the default beside it, the meaning and the reason below it. A field without a default is
required. `schema.py` puts the tables together, and `restow.settings` exports them. [consume.NAME] is not here: it is
`TopicService` of the protocol, because the service topic carries it too.

kafka.py       the cluster, and properties for every Kafka client
group.py       the group's name, and its platform
topics.py      the topics over which the roles communicate
monitor.py     which topics are measured, and how
controller.py  when the group scales: shares, limits, cool-downs, presets; the controller's timeouts
schedule.py    windows of time with limits of their own
consumer.py    resources, cycles and capacity of consumers
processes.py   consumers as local processes
kubernetes.py  consumers as pods
spark.py       the Spark session
registry.py    credentials for a schema registry
table.py       maintenance of Delta tables
event_log.py   how long the event log is kept
page.py        the page for browsers
log.py         the log of every process
metrics.py     metrics and probes
"""
