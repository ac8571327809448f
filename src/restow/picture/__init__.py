"""The group's picture: what the controller knows and does, as frozen values that every display is drawn from. Pure.

picture.py         the picture: overview, consumers, partitions, decisions
chronicle.py       what a picture needs of the past and the controller's state does not keep
waits.py           what the controller waits for, in words
offset_history.py  the end offsets of the last minutes, and when a record was appended by them
lag.py             records and seconds behind, from that history or from the timestamp of the oldest unread record
retention.py       how long until Kafka may delete unread records
urgent.py          partitions to serve first, because unread records would be deleted
questions.py       what the picture has to ask the brokers, and what their answers change
drawing.py         state, chronicle and lags -> picture
observer.py        follows a controller's machine, and draws its picture
explanation.py     why a partition or a consumer is as it is, and what would change it
forecast.py        what the controller would decide now, by its own code
recall.py          what was learned, for the next controller
answers.py         what became of a record of the service topic
parts.py           picture <-> records of <prefix>-status: whole pictures in parts, and changes between them
reference.py       docs/picture.md, generated from the types
publication.py     when to publish a whole picture, and when a change
"""
