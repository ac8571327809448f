"""The controller: decides how many consumers there are and what each reads, and moves partitions without losing any.

machine.py          step(state, event) -> (state, effects): the one entry
events.py           what can happen
effects.py          what is to be done
state/              what is known; what a consumer may hold is derived from commands and answers
transitions.py      stages, phases and the moves between them, as data
transition.py       one step in progress: the state and the effects so far

standby.py          before it is in charge: waits while another controller is
synchronize.py      on every start: which consumers exist, and what each holds
sentinel.py         watches speeds and loads, and finds the cause for a new plan
reassign.py         plans the assignment, with the packer
closing.py          when a consumer may be closed: hysteresis, cool-downs, the budget of moves
schedules.py        windows of time with limits of their own, or in which the group is held
parking.py          scale to zero: a group without new records has no consumers
rise.py             opens consumers while others start, and one ahead of a rising load
urgency.py          partitions whose unread records would be deleted are served first
peaks.py            the highest speeds of the last minutes
manage.py           works towards the plan, by Stop and Start commands
reconcile.py        what each consumer holds, compared with the plan

foreign.py          consumers of the group on another platform: none is started beside them
consumer_events.py  messages of consumers
failures.py         topics that consumers can't store
crashes.py          a crash that the platform reports: others take over, or the partitions wait
takeover.py         whether a takeover is worth it, and who gets what
spares.py           warm consumers without partitions
claims.py           what a consumer held when it crashed: granted, or given to others
poison.py           partitions that crash their consumers are handed to no other
left_out.py         bad records that consumers leave out of tables
platform_events.py  reports of the platform: up, failing, gone, refused
services.py         records of the service topic: topics, consumers' settings, what people want
holds.py            pause and recommend only
desired.py          what people want of the group, and the answers to their records
timeouts.py         unanswered commands and silent consumers: repeat, restart, give up
starts.py           starts that fail or are late: backoff, halted rolls, the least number of consumers
removal.py          deletes consumers, and gives them up
roll.py             restarts consumers with new settings, one at a time
restarts.py         restarts consumers that people want restarted, in the way of a roll
pins.py             partitions that people keep on one consumer
pin_checks.py       whether a pin can be taken, and whether one has ended, in words
broken_code.py      deletes a consumer that can't run what others run
moves.py            moves of partitions and their pauses, counted
load.py             the load of each consumer, with its backlog
learned.py          what is learned of consumers and topics
capacity.py         learns what each consumer carries
costs.py            learns what a byte of each topic costs
gains.py            judges scale-ups: one without gain is not repeated
stuck.py            partitions whose backlog does not shrink although their consumer has room
fastest.py          partitions that are faster than any consumer

event_log.py        events and effects as JSON lines, and their replay
log_reader.py       reads those lines, without the machine
differences.py      shortens events to their difference from the last
segments.py         the event log's files
journal.py          writes them, and deletes the oldest
history.py          replays segments as one history
explain.py          a replayed step in words, for `restow replay`
diagram.py          docs/controller.md, generated from the code
"""
