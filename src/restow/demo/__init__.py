"""The demonstration: a whole group on one machine under a changing load, with a kill on the way and an audit.

run.py        the run itself: produces, watches, narrates
course.py     when the load changes: quiet, busy, accident, quiet again
load.py       the records of both topics, at the load asked for
producing.py  writes them to Kafka, each once
shop.py       the pipeline: a shop's orders and clicks, from JSON to two Delta tables
group.py      the processes: monitor, controller, and the consumers that it starts
log_tail.py   follows the controller's event log while it is written
group_view.py what each consumer reads and how fast partitions are written, from that log
pauses.py     moves and pauses, from that log
narration.py  the controller's decisions as lines
audit.py      the result: counted from the tables by DuckDB
"""
