"""Where consumers run: one small interface, implemented for local processes and for Kubernetes.

interface.py   what the controller asks of a platform, and the changes that a platform reports (pure)
processes/     each consumer is a process on this machine: the embedded default
kubernetes/    each consumer is a pod of a cluster

Both, and the simulator's platform, pass tests/support/platform_contract.py.
"""
