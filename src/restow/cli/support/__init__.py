"""What several commands share.

options.py           option types, and a parser that answers a mistake with one line
moments.py           times in options, in UTC
output.py            JSON and tables on stdout, notes and progress on stderr
config.py            finds and reads restow.toml
kafka_options.py     the brokers on the command line, without restow.toml
group_watch.py       watches any consumer group, for `restow advise`
group_picture.py     the newest picture of a group, its age, and what is in it
event_logs.py        finds an event log, and the part of it between two times
desired.py           writes desired state, and says what became of it
picture_file.py      a picture in a file
group_screen.py      a picture of the group on a terminal
keys.py              single keys from the terminal
scroll.py            which rows of a long list are on the screen
questions.py         asks the person at the terminal, with defaults elsewhere
topic_survey.py      shows a cluster's topics and asks which to consume
comparing.py         `restow simulate --compare` and `--sweep`
packer.py            loads the packer, or compiles it with a line that says so
stopping.py          SIGINT and SIGTERM
local_group.py       a group's roles on this machine, for `restow up`
recorded.py          records a controller or a monitor, so that `restow down` finds it
serving.py           serves metrics and probes
transforms_path.py   makes the transforms beside restow.toml importable
local_modules.py     finds the modules that transforms load, and their digest
modules_beside.py    those of them that fit into a ConfigMap
consumers_config.py  annotates pods with a digest of their settings
"""
