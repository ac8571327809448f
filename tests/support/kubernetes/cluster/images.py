"""The images of the tests' pods, generated as one OCI archive. `node.py` imports it into containerd.

All share one small layer: a static busybox, a few users, and symbolic links to this machine's own programs. The node
mounts those into each container, read-only: this Python, restow as it is in the working tree, Java, and restow's cache.
So an image takes a moment to make, and runs the code under test.
"""

import gzip
import hashlib
import io
import json
import os
import platform
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

from tests.support.kubernetes.cluster.commands import CONSUMER_USER

from restow.java.runtime import find_java

BUSYBOX = "restow.test/busybox:1"
"""For plain pods; runs a shell by default."""

RESTOW = "restow.test/restow:1"
"""Runs `restow`, like the image that is shipped."""

PAUSE = "restow.test/pause:1"
"""Holds a pod's namespaces while its containers come and go."""

APPLETS = ("sh", "cat", "echo", "env", "id", "kill", "ls", "mkdir", "rm", "sleep", "test", "touch", "true", "wget")
ROOT = Path(__file__).parents[4]
HIDDEN = Path("/opt/of-tmp")
SYSTEM = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}

Blob = tuple[str, bytes]


@dataclass(frozen=True, slots=True)
class Image:
    name: str
    entrypoint: tuple[str, ...]
    command: tuple[str, ...] = ()
    user: str = ""


def inside(path: Path) -> Path:
    """Where containers see a directory of this machine: at the same path, except for /tmp, which is the pod's own."""
    return HIDDEN / path.relative_to("/tmp") if path.is_relative_to("/tmp") else path


def host_directories() -> tuple[Path, ...]:
    """The directories of this machine that containers see."""
    java = find_java().resolve().parents[1]
    etc = [path for path in Path("/etc").glob("java*") if path.is_dir()]  # where Debian's Java keeps its settings
    cache = cache_directory()
    system = [Path("/usr"), *(path for name in SYSTEM if (path := Path("/", name)).is_dir() and not path.is_symlink())]
    wanted = [*system, *etc, Path(sys.base_prefix), Path(sys.prefix), java, ROOT, cache / "jars", cache / "classes"]
    present = sorted({path.resolve() for path in wanted if path.is_dir()})
    return tuple(path for path in present if not any(path.is_relative_to(other) for other in present if other != path))


def cache_directory() -> Path:
    return Path(os.environ.get("RESTOW_CACHE") or Path.home() / ".cache" / "restow")


def write_archive(path: Path, busybox: str) -> None:
    layer, environment = _layer(Path(busybox).read_bytes()), _environment()
    images = (
        Image(PAUSE, ("/busybox/sleep", str(10**8))),
        Image(BUSYBOX, (), ("/busybox/sh",)),
        Image(RESTOW, ("restow",), user=f"{CONSUMER_USER}:{CONSUMER_USER}"),
    )
    blobs: dict[str, bytes] = {}
    manifests = []
    for image in images:
        manifest = _add(blobs, _json(_manifest(blobs, image, layer, environment)))
        annotations = {"io.containerd.image.name": image.name}
        manifests.append(_descriptor("manifest", manifest) | {"annotations": annotations})
    with tarfile.open(path, "w") as archive:
        _add_file(archive, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
        _add_file(archive, "index.json", _json({"schemaVersion": 2, "manifests": manifests}))
        for digest, content in blobs.items():
            _add_file(archive, f"blobs/sha256/{digest}", content)


def _layer(busybox: bytes) -> bytes:
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as archive:
        for name in ("busybox", "etc", "proc", "sys", "dev", "tmp", "run", "var"):
            _add_entry(archive, name, tarfile.DIRTYPE, mode=0o1777 if name == "tmp" else 0o755)
        _add_file(archive, "busybox/busybox", busybox, mode=0o755)
        _add_file(archive, "busybox/restow", _program().encode(), mode=0o755)
        for applet in APPLETS:
            _add_entry(archive, f"busybox/{applet}", tarfile.SYMTYPE, link="busybox")
        for name in SYSTEM:
            if (link := Path("/", name)).is_symlink():
                _add_entry(archive, name, tarfile.SYMTYPE, link=str(link.readlink()))
        users = f"root:x:0:0::/:/busybox/sh\nrestow:x:{CONSUMER_USER}:{CONSUMER_USER}::/tmp:/busybox/sh\n"
        _add_file(archive, "etc/passwd", users.encode())
        _add_file(archive, "etc/group", f"root:x:0:\nrestow:x:{CONSUMER_USER}:\n".encode())
    return layer.getvalue()


def _manifest(blobs: dict[str, bytes], image: Image, layer: bytes, environment: dict[str, str]) -> object:
    config = {
        "architecture": ARCHITECTURES[platform.machine()],
        "os": "linux",
        "config": {
            "Env": [f"{name}={value}" for name, value in environment.items()],
            "Entrypoint": image.entrypoint,
            "Cmd": image.command,
            "User": image.user,
            "WorkingDir": "/",
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    packed = gzip.compress(layer, compresslevel=1, mtime=0)
    return {
        "schemaVersion": 2,
        "config": _descriptor("config", _add(blobs, _json(config))),
        "layers": [_descriptor("layer.v1.tar+gzip", _add(blobs, packed))],
    }


def _python() -> Path:
    return inside(Path(sys.prefix).resolve()) / "bin" / "python"


def _program() -> str:
    """The `restow` script as pip installs it, with the path of Python inside the container."""
    lines = ("import sys", "from restow.cli import main", "if __name__ == '__main__':", "    sys.exit(main())")
    return "\n".join((f"#!{_python()}", *lines, ""))


def _environment() -> dict[str, str]:
    programs = (Path("/busybox"), _python().parent, Path("/usr/bin"), Path("/bin"))
    return {
        "HOME": "/tmp",
        "JAVA_HOME": str(find_java().resolve().parents[1]),
        "LANG": "C.UTF-8",
        "PATH": ":".join(map(str, programs)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(inside(ROOT.resolve()) / "src"),
        "RESTOW_CACHE": str(inside(cache_directory().resolve())),
    }


def _add(blobs: dict[str, bytes], content: bytes) -> Blob:
    digest = hashlib.sha256(content).hexdigest()
    blobs[digest] = content
    return digest, content


def _descriptor(kind: str, blob: Blob) -> dict[str, object]:
    media = {
        "manifest": "application/vnd.oci.image.manifest.v1+json",
        "config": "application/vnd.oci.image.config.v1+json",
        "layer.v1.tar+gzip": "application/vnd.oci.image.layer.v1.tar+gzip",
    }
    digest, content = blob
    return {"mediaType": media[kind], "digest": f"sha256:{digest}", "size": len(content)}


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _add_file(archive: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))


def _add_entry(archive: tarfile.TarFile, name: str, kind: bytes, mode: int = 0o755, link: str = "") -> None:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode, entry.linkname = kind, mode, link
    archive.addfile(entry)
