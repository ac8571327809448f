"""The demonstration: everything together on one machine, under a load that changes, with an accident, and an audit.

shop.py      the pipeline: a shop's orders and clicks, from JSON to two Delta tables
load.py      how much of it there is, and when
group.py     the processes: monitor, controller, and the consumers that it starts
pauses.py    what the controller's event log says of moves and pauses
run.py       the run itself, and what is told of it
"""
