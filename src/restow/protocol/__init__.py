"""The words that the parts of restow exchange over Kafka: every message, its one encoding, and where it travels.

messages.py   the messages: frozen values, checked (checks.py) where they are made
codec.py      a dataclass <-> plain JSON, by the types of its fields (single ones: forms.py, partition_forms.py)
json_text.py  plain JSON <-> bytes, strictly
versions.py   which versions of each message exist, and how each is written and read
records.py    a message <-> a Kafka record (headers, key, value), and what to do with a record that can't be read
channels.py   which message stands on which topic, written and read by whom
reference.py  docs/protocol.md, written from the above and the examples.py
"""
