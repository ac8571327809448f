"""A real control plane: etcd, kube-apiserver with RBAC, kube-controller-manager, kube-scheduler, on loopback.

    with ControlPlane() as control_plane:
        control_plane.admin("some-namespace").list(Pod)

It keeps everything in one temporary directory, certificates and tokens included, and removes it at its end. Whatever
ends its owner, no process of it stays (restow's keeper.py). `conftest.py` makes one for each process that runs tests.
"""

import os
import shutil
import ssl
import tempfile
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from httpx2 import Timeout
from lightkube import ApiError, Client, KubeConfig
from lightkube.models.authentication_v1 import TokenRequestSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.core_v1 import (
    ConfigMap,
    Namespace,
    PersistentVolume,
    PersistentVolumeClaim,
    ServiceAccount,
    ServiceAccountToken,
)
from lightkube.resources.storage_v1 import StorageClass
from tests.support.kubernetes.cluster import commands
from tests.support.kubernetes.cluster.authority import Authority, User, write_kubeconfig, write_tokens
from tests.support.kubernetes.cluster.programs import Program

from restow.kafka.embedded.ports import choose_ports

ADMIN = User("admin", ("system:masters",))
CONTROLLERS = User("system:kube-controller-manager")
SCHEDULER = User("system:kube-scheduler")
NODE_NAME = "localhost"
NODE = User(f"system:node:{NODE_NAME}", ("system:nodes",))

STORAGE_CLASS = "host-path"
ANSWER_WITHIN_S = 60.0


class ControlPlane:
    def __init__(self, hyperkube: Path, etcd: str) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="restow-kubernetes-"))
        self._home.chmod(0o711)  # the controllers run as another user, and pass through; what is private is so itself
        self.lifeline = os.pipe()
        self.place = self._make_place(hyperkube, etcd)
        self._tokens = write_tokens(self.place.tokens, (ADMIN, CONTROLLERS, SCHEDULER, NODE))
        self.kubeconfig = self.kubeconfig_of(ADMIN)
        self._clients: list[Client] = []
        self._etcd = self.program("etcd", commands.etcd(self.place))
        self._api_server = self.program("kube-apiserver", commands.api_server(self.place))
        controllers = commands.controller_manager(self.place, self._handed(self.kubeconfig_of(CONTROLLERS)))
        self._controllers = self.program("kube-controller-manager", controllers)
        scheduler = commands.scheduler(self.place, self.kubeconfig_of(SCHEDULER))
        self._scheduler = self.program("kube-scheduler", scheduler)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Returns when the API server answers; the others come up behind it, and what waits for them waits a moment."""
        self._etcd.start()
        self.start_api_server()
        for program in (self._controllers, self._scheduler):
            program.start()
        self._make_storage_class()

    def stop(self) -> None:
        """Ends everything and leaves nothing. Nobody will look at the data again: no program is asked."""
        if os.geteuid() != 0 and self._api_server.is_running:
            self._remove_volumes()
        for client in self._clients:
            client.close()
        for program in (self._scheduler, self._controllers, self._api_server, self._etcd):
            program.kill()
        for end in self.lifeline:
            os.close(end)
        shutil.rmtree(self._home, ignore_errors=True)

    # What tests do to the API server.

    def stop_api_server(self) -> None:
        """Cuts every connection to it. Nodes, and what runs on them, go on."""
        self._api_server.kill()

    def start_api_server(self) -> None:
        """At the same address, with the same objects. Watches can't be resumed across it: its memory of what
        changed begins anew, and answers 410 to whoever asks for something older."""
        self._api_server.start()
        self._api_server.wait_until(self._is_ready, "ready")

    def restart_api_server(self) -> None:
        self.stop_api_server()
        self.start_api_server()

    def mend(self) -> None:
        """Whatever a test left: the API server runs for the next one."""
        if not self._api_server.is_running:
            self.start_api_server()

    # Who asks the API server.

    def admin(self, namespace: str = "default") -> Client:
        """May do anything. Closed at the cluster's end, if not before."""
        return self.client(self.kubeconfig, namespace)

    def client(self, kubeconfig: Path, namespace: str = "default") -> Client:
        client = Client(KubeConfig.from_file(kubeconfig), namespace, timeout=Timeout(ANSWER_WITHIN_S), trust_env=False)
        self._clients.append(client)
        return client

    def kubeconfig_of(self, user: User) -> Path:
        name = user.name.replace(":", "-")
        return self._write_kubeconfig(name, self._tokens[user], "default")

    def service_account(self, name: str, namespace: str) -> Path:
        """A kubeconfig with a service account's token, as a pod of it would have, good for an hour."""
        asked = TokenRequestSpec(audiences=[], expirationSeconds=3600)
        with self.admin(namespace) as client:
            answer = client.create(ServiceAccountToken(metadata=ObjectMeta(), spec=asked), name)
        assert answer.status is not None
        assert answer.status.token is not None
        return self._write_kubeconfig(f"{namespace}-{name}", answer.status.token, namespace)

    # What is in the cluster.

    def make_namespace(self, name: str) -> None:
        """Returns when pods can be made in it."""
        with self.admin(name) as client:
            client.create(Namespace(metadata=ObjectMeta(name=name)))
            self._controllers.wait_until(lambda: _exists(client, ServiceAccount, "default"), "making service accounts")
            self._controllers.wait_until(lambda: _exists(client, ConfigMap, "kube-root-ca.crt"), "handing out its root")

    def delete_namespace(self, name: str) -> None:
        """With all that is in it. Does not wait for it."""
        with self.admin() as client:
            client.delete(Namespace, name)

    def volume(self, claim: str, namespace: str) -> Path:
        """The directory on this machine that a bound claim stands for."""
        with self.admin(namespace) as client:
            found = client.get(PersistentVolumeClaim, claim)
            assert found.spec is not None
            assert found.spec.volumeName, f"the claim {claim} is not bound"
            volume = client.get(PersistentVolume, found.spec.volumeName)
        assert volume.spec is not None
        assert volume.spec.hostPath is not None
        path = Path(volume.spec.hostPath.path)
        return self.place.volumes / path.name if os.geteuid() == 0 else path

    # Looking after it.

    def program(self, name: str, command: tuple[str, ...]) -> Program:
        """Another program that ends when this cluster's owner does."""
        return Program(name, command, self._home, self.lifeline[0])

    def check(self) -> None:
        """That everything still runs which should."""
        for program in (self._etcd, self._api_server, self._controllers, self._scheduler):
            program.check()

    @property
    def logs(self) -> tuple[Path, ...]:
        return tuple(sorted(self._home.glob("*.log")))

    def _make_place(self, hyperkube: Path, etcd: str) -> commands.Place:
        authority = Authority(self._home / "authority")
        api_port, etcd_port, peer_port = choose_ports(3)
        place = commands.Place(
            home=self._home,
            hyperkube=hyperkube,
            etcd=etcd,
            api_port=api_port,
            etcd_port=etcd_port,
            peer_port=peer_port,
            authority=authority,
            server=authority.certificate("localhost"),
            client=authority.certificate("kube-apiserver", "system:masters"),
            signer=authority.certificate("service-accounts"),
        )
        self._handed(place.signer.key)
        place.volumes.mkdir()
        self._handed(place.volumes)
        with suppress(FileExistsError):
            commands.VOLUMES.mkdir()
            commands.VOLUMES.chmod(0o1777)  # as /tmp itself: it is everybody's who runs such a provisioner
        return place

    def _handed(self, path: Path) -> Path:
        """To the controllers, who run as another user if they can."""
        if os.geteuid() == 0:
            os.chown(path, commands.CONSUMER_USER, commands.CONSUMER_USER)
        return path

    def _write_kubeconfig(self, name: str, token: str, namespace: str) -> Path:
        path = self._home / f"{name}.kubeconfig"
        return write_kubeconfig(path, self.place.api, self.place.authority.root.certificate, token, namespace)

    def _make_storage_class(self) -> None:
        default = {"storageclass.kubernetes.io/is-default-class": "true"}
        with self.admin() as client:
            client.create(
                StorageClass(
                    provisioner="kubernetes.io/host-path",
                    metadata=ObjectMeta(name=STORAGE_CLASS, annotations=default),
                    reclaimPolicy="Delete",
                    volumeBindingMode="Immediate",
                )
            )

    def _remove_volumes(self) -> None:
        """Those outside of the cluster's own directory."""
        with self.admin() as client:
            for volume in client.list(PersistentVolume):
                if volume.spec is not None and volume.spec.hostPath is not None:
                    shutil.rmtree(volume.spec.hostPath.path, ignore_errors=True)

    def _is_ready(self) -> bool:
        request = urllib.request.Request(
            f"{self.place.api}/readyz", headers={"Authorization": f"Bearer {self._tokens[ADMIN]}"}
        )
        context = ssl.create_default_context(cafile=str(self.place.authority.root.certificate))
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )
        try:
            with opener.open(request, timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


def _exists(client: Client, kind: type[ServiceAccount] | type[ConfigMap], name: str) -> bool:
    try:
        client.get(kind, name)
    except ApiError as error:
        if error.status.code != 404:
            raise
        return False
    return True
