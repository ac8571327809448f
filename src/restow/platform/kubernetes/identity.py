"""The identity of the platform: the cluster and the namespace. The controller writes it into its consumers' pods.

A cluster is known by the certificate of its authority, which is the same inside and outside of it, where its addresses
differ; without one, by its address. It takes no rights to read.
"""

import base64
import hashlib
from pathlib import Path

from lightkube.config.kubeconfig import SingleConfig
from lightkube.core.exceptions import ConfigError

from restow.protocol.platform_identity import PlatformIdentity


def identity_of(cluster: SingleConfig, namespace: str) -> PlatformIdentity:
    digest = hashlib.sha256(b"\0".join((_known_by(cluster), namespace.encode()))).hexdigest()[:12]
    return PlatformIdentity(f"kubernetes-{digest}", f"namespace {namespace} of {cluster.cluster.server}")


def _known_by(cluster: SingleConfig) -> bytes:
    known = cluster.cluster
    try:
        if known.certificate_auth_data:
            return b"".join(base64.b64decode(known.certificate_auth_data).split())
        if known.certificate_auth:
            return b"".join(Path(cluster.abs_file(known.certificate_auth)).read_bytes().split())
    except (ValueError, OSError, ConfigError):
        pass  # the client reports it
    return known.server.encode()
