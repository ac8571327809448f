"""The command `restow`. Only here are machines, channels, platforms and pipelines wired together.

main.py        reads the command line and turns errors into one line and an exit code
demo.py        `restow demo`: a whole group on this machine, audited
init.py        `restow init`: a restow.toml and transforms to begin with
check.py       `restow check`: settings, brokers, topics, transforms and tables
consume.py     `restow consume --once`: the pipeline over what is on the topics now
advise.py      `restow advise`: how large any consumer group should be
up.py          `restow up`: monitor, controller and page together
monitor.py     `restow monitor`: write speeds of partitions
controller.py  `restow controller`: the group's size and assignment
consumer.py    `restow consumer`: one member of the group
status.py      `restow status`: the group on one screen
top.py         `restow top`: the same, live
explain.py     `restow explain`: why a partition or a consumer is as it is
page.py        `restow page`: the group in a browser
rejected.py    `restow rejected`: records that could not be stored
manifests.py   `restow manifests`: Kubernetes objects as YAML
pause.py       `restow pause` and `restow resume`: the group stays as it is
recommend.py   `restow recommend`: decisions that are not carried out
topics.py      `restow topics`: what the group consumes
consumers.py   `restow consumers`: what consumers run as, and how many there may be
restart.py     `restow restart`: restarts one consumer
move.py        `restow move`: a partition pinned to a consumer
reload.py      `restow reload`: changed transforms for running consumers
down.py        `restow down`: ends a group on this machine
replay.py      `restow replay`: an event log, run again and explained
backtest.py    `restow backtest`: other settings on the load of an event log
record.py      `restow record`: measured speeds as a trace
simulate.py    `restow simulate`: the machines in a seeded world with faults
plan.py        `restow plan`: what would be decided now, or for a group in a file
broker.py      `restow broker`: Apache Kafka on this machine
study/         `restow study packing`, `latency`, `monitor`
bench/         `restow bench packing`, `monitor`, `platform`, `consumer`, `handover`
support/       option types, output, restow.toml, signals

Each command is a module with `add(commands)`, which adds its parser, and `run(args)`, which returns the exit code.
"""

from restow.cli.main import main

__all__ = ["main"]
