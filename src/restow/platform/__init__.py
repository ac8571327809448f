"""Where consumers run. One small interface, and its implementations: local processes, Kubernetes, and the simulator's.

interface.py   what a platform can do and say (pure); every implementation passes tests/support/platform_contract.py
processes/     each consumer is a process on this machine: the embedded default
"""
