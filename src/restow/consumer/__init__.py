"""The consumer: reads its assigned partitions in cycles, stores the rows, and answers the controller's commands.

Pure:
machine.py        step(state, event) -> (state, effects): the only entry point
events.py         what can happen to a consumer
effects.py        what the machine asks its process to do
state.py          the machine's state
checkpoint.py     what survives a crash, on the volume: the assignment, and the plan of the running cycle
claims.py         what a process after a crash would resume, and reads only when it is granted
commands.py       a batch of Start and Stop commands, merged into one change of the assignment
answers.py        the answers to that batch
outgoing.py       all other messages to the controller
cycle_totals.py   sums over cycles, for the report and the log line
report_window.py  throughput and cycle times since the last report
work.py           what cycles say about the consumer's capacity, since the last report
progress.py       the log line on what was stored, lag and tables
planning.py       which offsets the next cycle reads
pace.py           how many bytes it may read, learned from the cycles before
patience.py       how long a command lets a running cycle finish
warmth.py         which cycles are cold, so that nothing is learned from their length
watchdog.py       when a running cycle counts as stalled, and when it is given up
pipeline.py       the protocol of a pipeline, which reads, transforms and stores
Edge:
volume.py         the consumer's directory
"""
