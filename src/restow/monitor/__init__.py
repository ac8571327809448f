"""The monitor: how fast every partition is written. Samples of the cluster in, one publication a measurement out.

Pure: `sample` (one look at the cluster), `increments` (what was written between two looks), `compaction` (what
compaction hid of it), `changes` (the filter's sense of a step), `speeds` (the meter that puts them together),
`publication` (the record on the monitor topic). Around them: `process` (the loop of `restow monitor`), `live_study`
(the study against a real broker), and in `restow.kafka` the sampler and the publisher.
"""
