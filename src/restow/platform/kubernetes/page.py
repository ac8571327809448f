"""What the page's pod has beside those of the other roles: its port, its arguments, its token and its Service. Pure."""

from typing import Final

from lightkube.models.core_v1 import (
    ContainerPort,
    SecretVolumeSource,
    ServicePort,
    ServiceSpec,
    Volume,
    VolumeMount,
)

from restow.platform.kubernetes import names
from restow.settings import Page, Settings

PORT: Final = "page"
TOKEN: Final = "token"
"""The volume, and the key of the Secret."""
TOKEN_DIRECTORY: Final = "/etc/restow-page"
OWNER_AND_GROUP: Final = 0o440
EVERY_ADDRESS: Final = "0.0.0.0"
"""`kubectl port-forward` comes from the pod's loopback, a Service from elsewhere. Both need the token."""


def page_name(settings: Settings) -> str:
    """Of the Deployment, the Service and the Secret."""
    return f"{settings.group.name}-page"


def page_port(settings: Settings) -> int:
    return settings.page.port or Page().port


def page_arguments(settings: Settings) -> tuple[str, ...]:
    token = () if settings.page.token_file else ("--token-file", f"{TOKEN_DIRECTORY}/{TOKEN}")
    return ("--host", EVERY_ADDRESS, "--port", str(page_port(settings)), *token)


def made_token(settings: Settings) -> str:
    """The file of a token that the page made, because there is no Secret."""
    return f"{names.SCRATCH}/.restow/{settings.group.name}/page-token"


def page_ports(settings: Settings) -> list[ContainerPort]:
    return [ContainerPort(containerPort=page_port(settings), name=PORT, protocol="TCP")]


def page_volumes(settings: Settings) -> list[Volume]:
    secret = SecretVolumeSource(secretName=page_name(settings), optional=True, defaultMode=OWNER_AND_GROUP)
    return [Volume(name=TOKEN, secret=secret)]


def page_mounts() -> list[VolumeMount]:
    return [VolumeMount(name=TOKEN, mountPath=TOKEN_DIRECTORY, readOnly=True)]


def page_service(settings: Settings) -> ServiceSpec:
    return ServiceSpec(
        selector={"app.kubernetes.io/component": "page", names.GROUP: settings.group.name},
        ports=[ServicePort(port=page_port(settings), name=PORT, targetPort=PORT)],
    )
