"""The process of each role: a pure machine, its Kafka channel and its other edges, in one loop.

monitor.py       samples the brokers and publishes speeds
controller.py    drives the controller's machine with Kafka, the platform and the clock
arrivals.py      the records that arrive at it, as events
notes.py         the machine's notes, as log lines
group_topics.py  checks, creates and grows the group's topics
local_code.py    the transforms' modules on this machine, and `restow reload`
standby.py       waits while another controller is in charge
schedules.py     resolves the time zones of schedules and plans their windows
status.py        publishes the group's picture beside the controller's machine
lookups.py       asks the brokers, in a thread, what the picture needs
consumer.py      drives the consumer's machine with its mailbox, its volume and a pipeline
respawn.py       starts the consumer of a container again at once when it crashes
child.py         a role as a child process, with its lines
background.py    the roles of a group in the background, with their output in files
together.py      runs several roles as children of one process, for `restow up`
"""
