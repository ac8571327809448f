"""Advice about any consumer group that was watched: how large it should be, how skewed it is, and what others would do
with it. Pure; `restow advise` watches and prints.

facts.py      what was seen of the group: members, partitions, speeds, lag
watching.py   gathers looks at a group and the monitor's readings into facts
capacity.py   what one consumer sustains, as far as the watch shows it
ways.py       the group as it is, and as KEDA, Kafka's assignors and restow would have it
advice.py     all of it together: needed consumers, skew, what is spare
sentences.py  the advice in words
similar.py    names that a person may have meant
"""
