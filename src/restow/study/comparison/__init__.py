"""`restow simulate --compare`, `--sweep` and `restow backtest`: policies over the same load, accounted in the same way.

times.py       start, cycle and pause times, as measured, and changeable
accounting.py  the model of backlog, latency, overload and cost that all policies share
loads.py       the workloads: tables of speeds, by name and seed, or one's own trace
members.py     a group of plain members: they start, join, leave and rebalance
policies.py    the policies, and the settings that each is tuned over
sizers.py      KEDA, Flink, uForwarder and fixed sizes, run over a load
packers.py     MWF and BFD, which pack again at every interval
ours.py        restow: the real controller over the same model
comparing.py   tunes every policy on some seeds and shows it on others
targets.py     what restow must reach in it
sweeping.py    one setting of restow at several values
backtest.py    the load of an event log under other settings
"""
