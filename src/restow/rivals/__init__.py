"""The rules by which others size and assign a consumer group. Pure; `restow advise` and `restow simulate --compare` ask
them.

assignors.py  Kafka's assignors: range, round robin, sticky
keda.py       KEDA's Kafka scaler: how many replicas it wants for a lag
hpa.py        Kubernetes' HorizontalPodAutoscaler, through which KEDA scales
flink.py      Flink's autoscaler
uforwarder.py uForwarder's autoscaler
"""
