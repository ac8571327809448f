"""The monitor's measurement of how fast each partition is written: samples of the cluster in, readings out. Pure.

group_look.py  a look at any consumer group: members, offsets, lag
sample.py      one sample of the cluster: offsets, leaders and log sizes of every partition
increments.py  what was written between two samples
compaction.py  the part of a compacted log's growth that compaction hid
changes.py     change detection: since when each partition has had its present speed
meter.py       the meter, which combines them into a MeterReading
pace.py        how often the cluster is sampled and a measurement published

roles/monitor.py runs it against Kafka, with kafka/sampler.py and kafka/channels/publisher.py; study/ runs it on
synthetic workloads.
"""
