"""The published studies of consumer groups, reproduced, and the plots and files of the commands.

workload.py             workloads: the published random walk, and recorded traces
recording.py            measurements as a trace
packing.py              the packing study: consumers against moved speed
packing_plot.py         its plot
targets.py              what restow's packer must reach in it
decision_time.py        how long a packing decision takes
latency.py              the latency study: how late records are read
latency_policies.py     its policies: Kafka's round robin, and packers
latency_plot.py         its plot
monitor.py              the monitor study: how the monitor follows a changing speed
monitor_scenarios.py    its scenarios
monitor_simulation.py   runs them in simulated time
monitor_live.py         runs them against a broker
monitor_plot.py         its plot
throughput.py           the throughput of a consumer and its peers: cases, speeds, capacity
throughput_plot.py      its plot
handover.py             what a change of a group costs its partitions: pauses, doubled and lost records
handover_plot.py        its plot
comparison/             policies over the same load: `restow simulate --compare` and `--sweep`, `restow backtest`
comparison_plot.py      their plots
simulation_plot.py      the plot of `restow simulate`
advice_plot.py          the plot of `restow advise`
plots.py                colours, and writing a plot to a file
plot_file.py            checks a plot's file name before a long run
labels.py               places labels beside points without overlaps
plan_file.py            reads the file of `restow plan`
strict_json.py          reads JSON strictly and names the place of a mistake
"""
