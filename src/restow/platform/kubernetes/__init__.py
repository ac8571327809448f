"""Consumers as pods of a cluster: each has a Deployment of one replica and a volume of its own.

Why a Deployment for each. The controller must choose *which* consumer goes, and a replica set or a stateful set
chooses for itself. With `Recreate` its pod has ended before the next one starts. Everything that must also happen
while no controller lives is left to the cluster: a pod that falls is started again by its kubelet, one whose node
drained by its replica set, and a deletion, once it was accepted, is carried through by the garbage collector.

What the platform object does is to send requests, several at once, and to watch:

    take(wishes) ── one look, then requests in parallel ──> API server
    changes()    <── queue ── a thread that watches Deployments, a thread that watches pods

"Gone" is told when a look of its own, not a watch, finds that neither the Deployment nor a replica set that could
still make a pod nor a pod object is left. Watches only say when to look.

names.py         what things are called: objects, labels, paths
fragments.py     a person's own pod settings, merged in (pure)
pods.py          the pod of a consumer (pure)
objects.py       its Deployment and its claim (pure)
credentials.py   which cluster, and as whom
api.py           the requests and watches that are made, and what their answers mean
patience.py      which answers are worth another try, when, and how long
looking.py       what there is of which consumers, read at once
seen.py          what watched objects say of a consumer (pure)
telling.py       what was told so far -> what is to be told now (pure)
watching.py      the threads that watch
wishes.py        the requests that create, restart and delete one consumer
consumers.py     `KubernetesPlatform`, the Platform for the controller
rights.py        what all of this needs to be allowed

And what a person applies to have a controller in the cluster at all:

roles.py         the pods of the controller and the monitor (pure)
manifests.py     everything that `restow manifests` prints (pure)
heading.py       what it prints above that (pure)
yaml_text.py     as YAML (pure)
"""
