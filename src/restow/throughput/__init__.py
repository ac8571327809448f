"""Measures one consumer at full load beside what people would use instead: `restow bench consumer`.

records.py    the records of the benchmark, and how many of them its filter keeps
transform.py  the transform of restow and of Structured Streaming
backlog.py    fills topics, so that every contender has more to read than it can
commits.py    follows the commits to Delta tables
usage.py      CPU time and memory of a process and its descendants, and which core they run on
contender.py  what measuring.py asks of a contender
consumer.py   the contender `restow`: the real consumer, started by the platform, commanded as a controller does
peers.py      the other contenders, as processes
peer.py       such a process: `python -m restow.throughput.peer NAME OPTIONS`
bare.py       the contender `bare`: reads only
loop.py       the contender `loop`: confluent-kafka, Polars, delta-rs
jars.py       the jars of Delta for Spark
streaming.py  the contenders `streaming` and `streaming-tuned`: Spark Structured Streaming into Delta
audit.py      checks the rows that restow stored
measuring.py  runs a contender on a case until its figures are known
run.py        all cases, and the brokers they need
"""
