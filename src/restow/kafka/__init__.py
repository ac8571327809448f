"""Kafka's edge: the clients, the administration of topics, and the embedded broker. Nothing else speaks to Kafka.

clients.py    producers, consumers and administrators, made from the settings
admin.py      what restow asks of a cluster: topics, end offsets, bytes on disk
log_dirs.py   the one question librdkafka can't ask: bytes on disk
topics.py     the four topics of restow: made when missing, grown when needed
mailbox.py    a consumer's own partitions of these topics, and its voice
reading.py    data, for the light consumer
offsets.py    offsets of logs, and the group's committed ones
errors.py     what can be wrong with a cluster, each a line that a person can act on
broker.py     the embedded broker: real Apache Kafka, one to three nodes
node.py       one node of it: a Java process that never outlives its owner
keeper.py     the small process between the two, which sees to that
data.py       the directory an embedded broker keeps its data in
ports.py      free ports on the loopback interface
java.py       finds Java
jars.py       fetches jars once, into a cache
"""
