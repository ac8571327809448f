"""Everything that talks to Kafka. No other package imports a Kafka client.

clients.py       producers, consumers and admin clients, made from the settings
errors.py        what can go wrong with a cluster, as errors that say what to do
outages.py       rides out brokers that don't answer, at the start of a process and later
admin.py         topics, leaders, offsets and configurations of a cluster
log_dirs.py      the bytes of each log on disk (DescribeLogDirs), which librdkafka can't ask for
record_sizes.py  the mean size of records, by reading some
policies.py      which topics are compacted, remembered for a while
sampler.py       the monitor's samples of a cluster
topics.py        restow's own topics: created when missing, grown when needed
offsets.py       first and last stable offsets of logs, committed offsets of the group
first_unread.py  the first record at a position and its timestamp, for the lag in the picture
retentions.py    how long topics keep their records
reading.py       records, for the light pipeline
rereading.py     whole topics at full speed, again and again, for the peers of `restow bench consumer`
membership.py    a member of a consumer group by Kafka's own protocols, for the peers of `restow bench handover`
newest.py        the newest records of topics, for `restow check`
groups.py        describes consumer groups: members, assignments, committed offsets
survey.py        looks at topics for `restow init`: sizes, speeds, a sample of records
acls.py          the rights that each role needs
channels/        how each role uses restow's topics
embedded/        a real Kafka cluster as child processes, for tests and the demo
"""
