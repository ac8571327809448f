"""The demonstration: everything together on one machine, under a load that changes, with an accident, and an audit.

shop.py       the pipeline: a shop's orders and clicks, from JSON to two Delta tables
load.py       the records of both topics, as many as are asked for
producing.py  brings them to Kafka, each once
course.py     when the load changes: quiet, busy, an accident, quiet again
group.py      the processes: monitor, controller, and the consumers that it starts
following.py  the controller's event log, while it is written
picture.py    who reads what, by that log
pauses.py     moves and pauses, by that log
telling.py    what of it is told
run.py        the run itself
audit.py      the result: counted from the tables by DuckDB
"""
