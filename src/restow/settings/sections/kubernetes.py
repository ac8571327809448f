"""`[kubernetes]`: consumers as pods: namespace, volumes, probes and the pod template."""

from dataclasses import dataclass, field
from typing import Annotated

from restow.settings.checks import AT_LEAST_0, AT_LEAST_1, DNS_NAME, Check, one_of
from restow.settings.passthrough import PassthroughTable


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """`[kubernetes]`: settings of the platform `kubernetes`, where each consumer has a Deployment and a volume of its
    own. docs/kubernetes.md shows them in use."""

    namespace: Annotated[str, DNS_NAME] | None = None
    """The namespace of the consumers. Without it, the controller's own namespace, or else that of the kubeconfig's
    context."""

    kubeconfig: str | None = None
    """The file with the cluster's address and credentials. Without it, the controller uses its service account, or else
    the file that KUBECONFIG names, or else ~/.kube/config."""

    context: str | None = None
    """The context of the kubeconfig. Without it, the current one."""

    config_map: Annotated[str, DNS_NAME] | None = None
    """The ConfigMap with restow.toml and the modules of transforms, mounted into consumers as files. Without it,
    GROUP-config."""

    service_account: Annotated[str, DNS_NAME] | None = None
    """The service account of consumers, for access that a cloud ties to it. They never call Kubernetes and get no
    token. Without it, the namespace's default."""

    user_id: Annotated[int, AT_LEAST_0] = 10001
    """The user that consumers run as and the group that owns their volumes; never root. 0 leaves the choice to the
    cluster, which some clusters insist on, and to the image."""

    volume_gb: Annotated[int, AT_LEAST_1] = 1
    """Size of each consumer's volume in GiB. It holds a checkpoint and planned cycles, a few kB; tables are
    elsewhere."""

    scratch_gb: Annotated[int, AT_LEAST_1] = 4
    """Limit of each pod's scratch space in GiB: an `emptyDir` at /tmp for temporary files, Spark's among them. Without
    one, a consumer could fill the disk of its node. Kubernetes evicts a pod that exceeds it; the consumer then starts
    again with empty scratch space. A cycle needs some MB, large shuffles and `packages` more."""

    storage_class: Annotated[str, DNS_NAME] | None = None
    """The storage class of the volumes. Without it, the cluster's default."""

    access_mode: Annotated[str, one_of("ReadWriteOncePod", "ReadWriteOnce")] = "ReadWriteOncePod"
    """ReadWriteOncePod keeps a second pod off the volume until the first has ended, even while a node is drained.
    ReadWriteOnce, for storage without it, keeps off pods of other nodes; a lock on the volume keeps off the others."""

    claims: Annotated[str, one_of("keep", "delete")] = "keep"
    """Whether a consumer's volume claim is kept or deleted with it. A kept claim is used by the next consumer with its
    number."""

    requests_at_once: Annotated[int, AT_LEAST_1] = 16
    """Concurrent requests to the API server. More gain little and are throttled sooner."""

    alive_within_s: Annotated[float, Check("60 or more", lambda s: s >= 60)] = 180.0
    """Seconds without progress of a consumer's loop after which its liveness probe fails and the kubelet restarts it,
    even while there is no controller. A controller notices sooner (`silent_after_s`). Below 60 s, a consumer that waits
    for brokers would look dead."""

    pod: PassthroughTable = field(default_factory=PassthroughTable)
    """`[kubernetes.pod]`: a partial pod template, by Kubernetes' own names, merged into the consumers' pods: node
    selectors, tolerations, environment, secrets, annotations, volumes. The container's name is `consumer`."""
