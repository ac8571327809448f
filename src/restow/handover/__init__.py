"""Observes what a change of a group costs its partitions, beside Kafka's own protocols: `restow bench handover`.

load.py             a steady load: the same offset of all partitions at the same time
contender.py        what run.py asks of a contender
group.py            the contenders `restow-light` and `restow-spark`: a monitor, a controller and their consumers
stored.py           the progress of a light table and of a Delta table
light_transform.py  stamps each record with the time and the process
spark_transform.py  the transform of the Spark consumers
members.py          the other contenders: Kafka clients as processes
member.py           such a process: `python -m restow.handover.member OPTIONS`
run.py              changes each contender's group, round by round, and observes it
"""
