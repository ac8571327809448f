"""What goes wrong in a run, when and for how long. All of it is drawn from the seed, and ends before the quiet period.

plan.py         when each kind of fault strikes
kinds.py        the kinds
context.py      what they share: victims, times, acts that wait
kafka.py        delays, repeats, outages, foreign and undecodable records
controllers.py  crashes, hangs, standbys, a controller on another platform
monitor.py      crashes, silence, nonsense
consumers.py    crashes, hangs, signals, lost volumes
platform.py     slow and failed starts, refusals, consumers that vanish
topics.py       changed topics, broken tables, deleted records
settings.py     changed settings and transforms' modules, also broken ones
"""
