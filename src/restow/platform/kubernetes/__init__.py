"""Consumers as pods of a cluster: each has a Deployment with one replica and a volume of its own.

Why a Deployment each: the controller must choose *which* consumer goes, and a ReplicaSet or StatefulSet chooses itself.
With `Recreate`, a pod has ended before the next one starts. Everything that must happen while no controller runs is
left to the cluster: the kubelet restarts a crashed container, the ReplicaSet replaces the pod of a drained node, and
the garbage collector finishes a deletion once the API server has accepted it.

The platform object sends requests, several at once, and watches:

    take(requests) ── read the inventory, then requests in parallel ──> API server
    changes()      <── queue ── a thread that watches Deployments, a thread that watches pods

A consumer is reported gone when a fresh list, not a watch, shows no Deployment, no ReplicaSet that could still create a
pod, and no pod of it. Watches only say when to list.

names.py             names of objects, labels, annotations and paths
fragments.py         merges [kubernetes.pod], the user's own pod settings (pure)
page.py              the port, the token and the Service of the page (pure)
probing.py           the port, the probes and the scrape annotations of a pod (pure)
pods.py              the pod of a consumer (pure)
objects.py           its Deployment and its volume claim (pure)
credentials.py       which cluster, and with which credentials
identity.py          the platform's identity: the cluster and the namespace
api.py               all requests and watches, and their errors
retry.py             which errors are retried, when, and for how long
inventory.py         reads which objects exist of which consumers
status.py            what a watched object says about its consumer (pure)
change_tracker.py    turns watched objects into the platform's changes, each reported once (pure)
watching.py          the watch threads
requests.py          creates, restarts and deletes one consumer
platform.py          `KubernetesPlatform`, the Platform for the controller
rbac.py              the permissions that all of this needs

And what an operator applies to get a controller into the cluster:

roles.py             the pods of the controller and the monitor (pure)
manifests.py         everything that `restow manifests` prints (pure)
manifest_header.py   the comment above it: how to apply it, and what it needs (pure)
yaml_text.py         prints objects as YAML (pure)
"""
