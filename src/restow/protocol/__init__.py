"""Everything that restow's roles exchange over Kafka: the messages, their encoding, and the topics they travel on.

messages/             the messages: frozen dataclasses, validated on construction
field_types.py        types of fields that several messages have, and the mark of fields that were added later
topic_service.py      the definition of a topic: its table, its transform, its format
definitions.py        validation of a topic's definition, and names made from the topic's
consumer_settings.py  what the processes of consumers are started with
platform_identity.py  names the platform of a controller or a consumer
digests.py            digests of definitions
measurement.py        the monitor's record of write speeds
measurement_parts.py  that record split and put together, for groups that it is too large for
checks.py             validation of message fields
codec.py              dataclass <-> plain JSON, driven by the types of the fields
forms.py              how each scalar type is written, read and described
partition_forms.py    how sets and mappings of partitions are grouped by topic
json_text.py          plain JSON <-> bytes, strictly
versions.py           the known versions of each message, and which one to send
records.py            message <-> Kafka record: headers, key and value; records that can't be decoded
channels.py           the topics: who writes and reads which message on which partition
topic_names.py        the names and patterns of topics in restow.toml, which never match restow's own topics
examples.py           one example of each message, for the page and the golden files
pages.py              docstrings and tables, for the generated pages of docs/
reference.py          docs/protocol.md, generated from all of the above

Imports nothing of restow but errors.py and model.py.
"""
