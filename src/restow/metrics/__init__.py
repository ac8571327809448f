"""What every process tells Prometheus and probes: `/metrics`, `/healthz` and `/readyz`.

families.py     every metric: name, kind, labels, help; docs/metrics.md is made from them
values.py       frozen samples, and the tallies that a loop keeps
group.py        the group's picture -> samples of the controller
follow.py       the controller's steps -> its counters
cycles.py       a consumer's cycles -> its counters
measurements.py the monitor's samples -> its counters
page.py         what the page's server knows -> its samples
series.py       how many series a process has at most
reference.py    docs/metrics.md
board.py        where a loop puts its frozen values and the HTTP thread finds them
collector.py    frozen values -> prometheus_client
server.py       the HTTP thread
targets.py      the file_sd files by which Prometheus finds local processes
"""
