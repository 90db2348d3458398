"""Builds what a machine of the tests boots: Debian's kernel with some of its modules, and a small
system in memory (initramfs) out of Debian's packages. Needs no root, and keeps all in a cache.

``python tests/machines/machine_image.py`` builds it beforehand: a minute, 130 MB to fetch.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import lzma
import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from debian_files import Debian, files_in, unpacked

Release = Literal["today", "older"]
"""The kernel of this machine's release of Debian, or of the release before it."""

SYSTEM = (
    *("busybox-static", "dash", "iproute2", "openssh-server", "openssh-sftp-server", "coreutils"),
)
PROGRAMS = {
    "usr/bin/busybox": "busybox",
    "usr/bin/dash": "dash",
    "usr/sbin/ip": "ip",
    "usr/sbin/tc": "tc",
    "usr/bin/ss": "ss",
    "usr/sbin/sshd": "sshd",
    "usr/lib/openssh/sftp-server": "sftp-server",
    "usr/bin/date": "date",
}
"""Place in the machine → name in the packages. Busybox's own shell prefers its own ``ip`` and
``tc``; Debian's ``date`` can step the clock."""
LOADER = "ld-linux-x86-64.so.2"
LINKS = {
    **{"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"},
    "usr/bin/sh": "dash",
    "usr/sbin/modprobe": "../bin/busybox",  # where the kernel looks for it
}
FOLDERS = ("dev", "proc", "sys", "run", "tmp", "root", "etc", "usr", "var/empty")
MODULES = re.compile(
    r"kernel/(net/sched/|net/core/failover|net/ipv4/tcp_|drivers/virtio/virtio(_pci|_ring|\.ko)"
    r"|drivers/char/virtio_console|drivers/net/(virtio_net|net_failover|ifb|dummy)"
    r"|drivers/net/ethernet/intel/e1000e?/)"
)
FILES = {
    "etc/passwd": "root::0:0:root:/root:/bin/sh\nsshd:*:100:65534::/run/sshd:/bin/false\n",
    "etc/group": "root:*:0:\nnogroup:*:65534:\n",
    "etc/shells": "/bin/sh\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "etc/hosts": "127.0.0.1 localhost\n",
    "etc/ssh/sshd_config": (
        "HostKey /etc/ssh/host_key\nPermitRootLogin prohibit-password\nUsePAM no\nUseDNS no\n"
        "PasswordAuthentication no\nPrintMotd no\nPidFile none\nMaxSessions 64\nStrictModes no\n"
        "PermitEmptyPasswords no\nSubsystem sftp /usr/lib/openssh/sftp-server\n"
    ),
}
INIT = """\
#!/bin/sh
export PATH=/usr/sbin:/usr/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm /run/sshd
mount -t devpts devpts /dev/pts
chmod 1777 /tmp /dev/shm
for module in virtio_pci virtio_console virtio_net e1000 e1000e; do modprobe $module; done
ip link set lo up
ip address add 10.0.2.15/24 dev eth0
ip link set eth0 up
hostname "$(cat /etc/hostname)"
sh -e /etc/set-up > /run/set-up 2>&1 || echo "set-up failed: $(cat /run/set-up)" > /dev/console
/usr/sbin/sshd
port=$(echo /dev/vport*p1)
while true; do
    exec 3<> "$port"
    while read -r line <&3; do
        echo "$line" | base64 -d > /run/command
        sh /run/command > /run/output 2>&1 < /dev/null 3<&-
        code=$?
        echo "$code $(base64 /run/output | tr -d '\\n')" >&3
    done
    exec 3>&-
    sleep 0.05
done
"""
"""The first process: what it reads from the virtual serial port are commands (base64, one a line),
what it answers are exit status and output. A port without a reader at its other end reads as ended.
"""


@dataclass(frozen=True, slots=True)
class Image:
    """Files that a machine boots."""

    kernel: Path
    release: str
    """As ``uname -r`` says it."""
    archives: tuple[Path, ...]
    """Of the initramfs, one after the other."""


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "netlab-machines"


def image(release: Release = "today") -> Image:
    """The image with the kernel of a release: from the cache if its digests are right, otherwise
    built. ``RuntimeError`` says what apt refuses.
    """
    with _locked(cache_folder()) as cache:
        system = _kept(cache, f"system-{_recipe()}", _make_system)
        kernel = _kept(cache, f"kernel-{release}-{_recipe()}", lambda into: _kernel(release, into))
    version = (kernel / "release").read_text()
    return Image(kernel / "vmlinuz", version, (system / "system.cpio", kernel / "modules.cpio"))


@contextmanager
def _locked(cache: Path) -> Iterator[Path]:
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield cache


def _recipe() -> str:
    """Digest of what the image is made by."""
    sources = [Path(__file__), Path(__file__).with_name("debian_files.py")]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]


def _digests(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
        if path.name != "digests.json"
    }


def _kept(cache: Path, name: str, make: object) -> Path:
    """A folder of the cache. It is made again if one of its files has changed since."""
    folder = cache / name
    digests = folder / "digests.json"
    if digests.exists() and json.loads(digests.read_text()) == _digests(folder):
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=cache) as scratch:
        new = Path(scratch) / name
        new.mkdir()
        assert callable(make)
        make(new)
        (new / "digests.json").write_text(json.dumps(_digests(new)))
        new.rename(folder)
    return folder


# ---- the archive ---------------------------------------------------------------------------------


def cpio(files: Mapping[str, bytes], links: Mapping[str, str] | None = None) -> bytes:
    """An archive of the format newc (kernel documentation, initramfs buffer format): all files
    belong to root. Everybody may run them, but only root may read those in ``etc`` and ``root``.

    A folder is a path that ends with a slash.
    """
    entries = [*_folders_of([*files, *(links or {})])]
    for name, content in sorted(files.items()):
        private = name.startswith(("etc/ssh/", "root/"))
        mode = 0o600 if private else 0o644 if name.startswith("etc/") else 0o755
        entries.append((name, stat.S_IFREG | mode, content))
    entries += [
        (name, stat.S_IFLNK | 0o777, to.encode()) for name, to in sorted((links or {}).items())
    ]
    parts = [_entry(number, *entry) for number, entry in enumerate(entries, 1)]
    return b"".join([*parts, _entry(0, "TRAILER!!!", 0, b"")])


def _folders_of(names: Iterable[str]) -> Iterator[tuple[str, int, bytes]]:
    above = {str(parent) for name in names for parent in Path(name).parents} - {"."}
    for folder in sorted({*above, *FOLDERS, *(str(Path(name).parent) for name in FOLDERS)} - {"."}):
        mode = 0o700 if folder.startswith("root") else 0o755
        yield folder, stat.S_IFDIR | mode, b""


def _entry(number: int, name: str, mode: int, content: bytes) -> bytes:
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    return _padded(head) + _padded(content)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)


# ---- the system ----------------------------------------------------------------------------------


def _make_system(into: Path) -> None:
    with tempfile.TemporaryDirectory(dir=into.parent) as scratch:
        folder = Path(scratch)
        debian = Debian(folder / "packages")
        packages = [*SYSTEM, *debian.libraries_of(*SYSTEM[1:])]
        root = folder / "root"
        unpacked(debian.fetched(*packages), root)
        files = _system_files(root)
        busybox = root / "bin/busybox"
        if not busybox.exists():
            busybox = root / "usr/bin/busybox"
        argv = [str(busybox), "--list"]
        applets = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split()
    own = {Path(name).name for name in files}
    links = {f"usr/bin/{name}": "busybox" for name in applets if name not in own}
    (into / "system.cpio").write_bytes(cpio(files, links | LINKS))


def _system_files(root: Path) -> dict[str, bytes]:
    """Programs, the libraries that they ask for, and the settings."""
    found = {path.name: path for path in _programs(root)}
    files = {"init": INIT.encode()} | {name: text.encode() for name, text in FILES.items()}
    folders = sorted({str(path.parent) for path in root.rglob("*.so*")})
    (loader,) = [path for path in root.rglob(LOADER) if not path.is_symlink()]
    files[f"usr/lib64/{LOADER}"] = loader.read_bytes()
    for place, name in PROGRAMS.items():
        files[place] = found[name].read_bytes()
        argv = [str(loader), "--library-path", ":".join(folders), "--list", str(found[name])]
        listed = subprocess.run(argv, check=False, capture_output=True, text=True)
        for library, path in re.findall(r"(\S+) => (/\S+)", listed.stdout):
            if LOADER not in library:
                files[f"usr/lib/x86_64-linux-gnu/{library}"] = Path(path).read_bytes()
        assert "not found" not in listed.stdout + listed.stderr, f"{name}: {listed.stdout}"
    for table in root.rglob("tc/*.dist"):  # netem's distributions, where tc looks for them
        files[str(table.relative_to(root))] = table.read_bytes()
    return files


def _programs(root: Path) -> Iterator[Path]:
    wanted = set(PROGRAMS.values())
    for path in root.rglob("*"):
        if path.name in wanted and path.is_file() and not path.is_symlink() and _is_program(path):
            yield path


def _is_program(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


# ---- the kernel ----------------------------------------------------------------------------------


def _kernel(release: Release, into: Path) -> None:
    with tempfile.TemporaryDirectory(dir=into.parent) as scratch:
        debian = Debian(Path(scratch) / "packages", older=release == "older")
        (package,) = debian.fetched(debian.kernel())
        parts = dict(
            files_in(package, lambda name: "boot/vmlinuz-" in name or bool(MODULES.search(name)))
        )
    (kernel,) = [name for name in parts if "boot/vmlinuz-" in name]
    version = kernel.partition("vmlinuz-")[2]
    (into / "release").write_text(version)
    (into / "vmlinuz").write_bytes(parts.pop(kernel))
    (into / "modules.cpio").write_bytes(cpio(_modules(version, parts)))


def _modules(version: str, parts: Mapping[str, bytes]) -> dict[str, bytes]:
    """Modules whose needs are met by each other, and the lists by which modprobe finds them."""
    plain = {
        Path(name).name.removesuffix(".xz"): lzma.decompress(data) if name[-3:] == ".xz" else data
        for name, data in parts.items()
    }
    modules = {name.removesuffix(".ko").replace("-", "_"): name for name in plain}
    needs = {module: _said(plain[name], "depends") for module, name in modules.items()}

    def closed(module: str) -> list[str] | None:
        """What it needs, in the order of loading; modprobe reads it from the end."""
        every: list[str] = []
        for need in (word.replace("-", "_") for text in needs[module] for word in text.split(",")):
            if need:
                further = closed(need) if need in modules else None
                if further is None:
                    return None
                every += [*further, need]
        return list(dict.fromkeys(every))

    place, dependencies, aliases, files = f"usr/lib/modules/{version}/", "", "", {}
    for module, name in sorted(modules.items()):
        if (every := closed(module)) is not None:
            files[place + name] = plain[name]
            dependencies += f"{name}: {' '.join(modules[need] for need in reversed(every))}\n"
            aliases += "".join(f"alias {alias} {module}\n" for alias in _said(plain[name], "alias"))
    files[f"{place}modules.dep"] = dependencies.encode()
    files[f"{place}modules.alias"] = aliases.encode()
    return files


def _said(module: bytes, word: str) -> list[str]:
    """Values of a word in the module's own description."""
    found = re.findall(rb"(?<![a-z_])" + word.encode() + rb"=([^\0]*)", module)
    return [value.decode() for value in found]


def main() -> None:
    for release in ("today", "older"):
        built = image(release)
        size = sum(path.stat().st_size for path in (built.kernel, *built.archives))
        print(f"{built.release}: {size / 1e6:.0f} MB in {built.kernel.parent.parent}")


if __name__ == "__main__":
    main()
