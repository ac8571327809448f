"""The command line of each program of a control plane, with reasons. `control_plane.py` runs them."""

import os
from dataclasses import dataclass
from pathlib import Path

from tests.support.kubernetes.cluster.authority import Authority, Certificate

from restow.kafka.embedded.ports import LOOPBACK

VOLUMES = Path("/tmp/hostpath_pv")
"""Where Kubernetes' host-path provisioner creates volumes; there is no option for it."""

AUDIT_POLICY = Path(__file__).with_name("audit.yaml")

CONSUMER_USER = 10001
"""The owner of volumes, and the user that pods should run as: the provisioner's volumes ignore fsGroup."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one control plane lives: its directory, its ports, its certificates."""

    home: Path
    hyperkube: Path
    etcd: str
    api_port: int
    etcd_port: int
    peer_port: int
    authority: Authority
    server: Certificate
    client: Certificate
    """Of the API server, as a client of etcd and of kubelets."""

    signer: Certificate
    """Signs service account tokens."""

    @property
    def api(self) -> str:
        return f"https://{LOOPBACK}:{self.api_port}"

    @property
    def store(self) -> str:
        return f"https://{LOOPBACK}:{self.etcd_port}"

    @property
    def tokens(self) -> Path:
        return self.home / "tokens.csv"

    @property
    def audit(self) -> Path:
        """A line of JSON for each request of a service account."""
        return self.home / "audit.jsonl"

    @property
    def volumes(self) -> Path:
        return self.home / "volumes"


def etcd(place: Place) -> tuple[str, ...]:
    peers = f"https://{LOOPBACK}:{place.peer_port}"
    return (
        *(place.etcd, f"--data-dir={place.home / 'etcd'}", "--unsafe-no-fsync", "--name=test"),
        *(f"--listen-client-urls={place.store}", f"--advertise-client-urls={place.store}"),
        *(f"--listen-peer-urls={peers}", f"--initial-advertise-peer-urls={peers}", f"--initial-cluster=test={peers}"),
        # A client that can write here can run anything on the node, so only the API server may connect.
        *(f"--cert-file={place.server.certificate}", f"--key-file={place.server.key}"),
        *("--client-cert-auth", f"--trusted-ca-file={place.authority.root.certificate}"),
        *(f"--peer-cert-file={place.server.certificate}", f"--peer-key-file={place.server.key}"),
        *("--peer-client-cert-auth", f"--peer-trusted-ca-file={place.authority.root.certificate}"),
    )


def api_server(place: Place) -> tuple[str, ...]:
    return (
        *(str(place.hyperkube), "kube-apiserver", "--profiling=false"),
        *(f"--bind-address={LOOPBACK}", f"--secure-port={place.api_port}", f"--advertise-address={LOOPBACK}"),
        "--endpoint-reconciler-type=none",  # it refuses to advertise a loopback address
        *(f"--tls-cert-file={place.server.certificate}", f"--tls-private-key-file={place.server.key}"),
        *(f"--etcd-servers={place.store}", f"--etcd-cafile={place.authority.root.certificate}"),
        *(f"--etcd-certfile={place.client.certificate}", f"--etcd-keyfile={place.client.key}"),
        *("--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction"),
        f"--token-auth-file={place.tokens}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={place.signer.certificate}",
        f"--service-account-signing-key-file={place.signer.key}",
        "--service-cluster-ip-range=10.0.0.0/24",
        f"--kubelet-certificate-authority={place.authority.root.certificate}",
        *(f"--kubelet-client-certificate={place.client.certificate}", f"--kubelet-client-key={place.client.key}"),
        *(f"--audit-policy-file={AUDIT_POLICY}", f"--audit-log-path={place.audit}"),
        "--kubelet-preferred-address-types=Hostname",  # the only address of a node that is on the loopback interface
    )


def controller_manager(place: Place, kubeconfig: Path) -> tuple[str, ...]:
    command = (
        *(str(place.hyperkube), "kube-controller-manager", f"--kubeconfig={kubeconfig}"),
        *("--secure-port=0", "--leader-elect=false", "--profiling=false"),
        *("--use-service-account-credentials", f"--service-account-private-key-file={place.signer.key}"),
        f"--root-ca-file={place.authority.root.certificate}",
        *("--enable-hostpath-provisioner", "--pvclaimbinder-sync-period=1s"),
        *("--kube-api-qps=200", "--kube-api-burst=400"),  # the default of 20 a second is too slow for tests
    )
    if os.geteuid() != 0:
        return command
    # In its mount namespace VOLUMES is the cluster's own directory, and it runs as the user that volumes belong to.
    bind = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
    user = ("setpriv", f"--reuid={CONSUMER_USER}", f"--regid={CONSUMER_USER}", "--clear-groups")
    view = ("unshare", "--mount", "sh", "-c", bind, "sh", str(place.volumes), str(VOLUMES))
    return (*view, *user, *command)


def scheduler(place: Place, kubeconfig: Path) -> tuple[str, ...]:
    return (
        *(str(place.hyperkube), "kube-scheduler", f"--kubeconfig={kubeconfig}"),
        *("--secure-port=0", "--leader-elect=false", "--profiling=false"),
        *("--kube-api-qps=200", "--kube-api-burst=400"),
    )
