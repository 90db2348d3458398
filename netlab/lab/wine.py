"""Wine on this machine: its programs, and the template that every Windows host starts from.

The template is a finished wine prefix: drive C, the registry, an account. Making a template takes
about ten seconds and 700 MB, so it is made once per version of wine and kept. A host mounts a file
system in memory over the template (overlayfs): the host reads the template's files, and what the
host writes vanishes when the host ends.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from netlab.errors import HostError
from netlab.lab import state
from netlab.lab.plan import ACCOUNT
from netlab.lab.programs import WINE_SEARCH_PATH, environment, program, run

CACHE = Path("/var/cache/netlab")
TEMPLATE = "wine-template-"
HALF_MADE = "half-made-"
LAUNCH = Path(__file__).with_name("launch.c")
LAUNCH_ON_C = "windows/netlab/launch.exe"
TEMPLATE_S = 240.0
"""Time limit for making the template. It takes ten seconds on an idle machine, and may take much
longer with a virus scanner or on a busy machine."""

MAKE_TEMPLATE = r"""
# A private network, account file and /tmp, invisible outside.
ip link set lo up
mount --bind "$ACCOUNT_FILE" /etc/passwd
mount -t tmpfs -o mode=1777,nosuid,nodev netlab /tmp
"$WINE" wineboot --init
"$WINE" winecfg /v win10
"$WINE" reg add 'HKLM\Software\Microsoft\Windows NT\CurrentVersion\ProfileList' \
    /v ProfilesDirectory /t REG_EXPAND_SZ /d 'C:\Users' /f
"$WINE" cmd /c exit
"$WINESERVER" -k
"$WINESERVER" -w || true
cd "$WINEPREFIX"
# Debian's wineserver keeps its socket here.
rm -rf wineserver
# No access outside drive C, whose folders have the names that Windows uses.
rm -f dosdevices/z:
[ -d drive_c/Users ] || mv drive_c/users drive_c/Users
test -d "drive_c/Users/$NAME" -a -f system.reg
# Documents and the like: folders, not links into a Unix home.
for link in $(find drive_c/Users -type l); do rm "$link"; mkdir "$link"; done
# Folders that everybody may write to, as on Windows.
chmod 1777 drive_c/ProgramData drive_c/windows/temp
"""

Notify = Callable[[str], None]


def loader() -> str:
    """Wine's program that starts 64-bit Windows programs."""
    return program("wine64", WINE_SEARCH_PATH)


def wineserver() -> str:
    """The program that acts as the kernel of one Windows host and makes all its sockets."""
    return program("wineserver64", WINE_SEARCH_PATH)


def wine_environment(prefix: Path) -> dict[str, str]:
    """The complete environment of wine's programs: Windows programs get it as their environment."""
    return {
        "WINEPREFIX": str(prefix),
        "WINESERVER": wineserver(),
        "WINEDEBUG": "-all",
        # Wine must not ask whether to install its .NET and HTML engines.
        "WINEDLLOVERRIDES": "mscoree,mshtml=",
        "LC_ALL": "C.UTF-8",
    }


def version() -> str:
    """Wine's name and version, such as ``wine-8.0``."""
    return run(loader(), "--version").split()[0]


def template_folder() -> Path:
    """The path of the template for this wine and this netlab, whether it exists or not."""
    sources = LAUNCH.read_bytes() + MAKE_TEMPLATE.encode()
    package = run(loader(), "--version")
    digest = hashlib.sha256(sources + package.encode()).hexdigest()[:12]
    return CACHE / f"{TEMPLATE}{version()}-{digest}"


def template(say: Notify) -> Path:
    """The template's folder; makes the template if there is none. The caller must hold the lock on
    all labs (``state.locked``).

    Raises HostError with one line, which has the last message of the program that failed.
    """
    folder = template_folder()
    if not folder.is_dir():
        say(f"making the Windows template {folder}: once, some 10 s and 700 MB")
        CACHE.mkdir(mode=0o755, parents=True, exist_ok=True)
        for remains in CACHE.glob(f"{HALF_MADE}*"):
            shutil.rmtree(remains)
        half = Path(tempfile.mkdtemp(prefix=HALF_MADE, dir=CACHE))
        try:
            _make(half)
            half.chmod(0o755)
            half.rename(folder)
        finally:
            shutil.rmtree(half, ignore_errors=True)
    _remove_older(folder)
    return folder


def _make(prefix: Path) -> None:
    with tempfile.TemporaryDirectory() as aside:
        account_file = Path(aside) / "passwd"
        account_file.write_text(f"{ACCOUNT}:x:0:0::/nonexistent:/bin/sh\n")
        log = Path(aside) / "log"
        variables = {
            "ACCOUNT_FILE": str(account_file),
            "NAME": ACCOUNT,
            "WINE": loader(),
            "HOME": "/nonexistent",
            "PATH": environment()["PATH"],
        }
        # fmt: off
        argv = [
            # If this process dies, the kernel kills the command, and all of wine with the command.
            program("setpriv"), "--pdeathsig", "KILL",
            program("unshare"), "--pid", "--mount", "--net", "--ipc", "--fork", "--kill-child",
            "--mount-proc", "sh", "-ec", MAKE_TEMPLATE,
        ]
        # fmt: on
        with log.open("wb") as output:
            try:
                status = subprocess.run(
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    env=wine_environment(prefix) | variables,
                    timeout=TEMPLATE_S,
                    check=False,
                ).returncode
            except subprocess.TimeoutExpired:
                status = -1
        if status:
            lines = log.read_text(errors="replace").split("\n")
            words = [line.strip() for line in lines if line.strip()] or [f"status {status}"]
            raise HostError(f"wine did not make the Windows template: {words[-1]}")
    _compile(prefix / "drive_c" / LAUNCH_ON_C)


def _compile(target: Path) -> None:
    target.parent.mkdir(parents=True)
    compiler = program("x86_64-w64-mingw32-gcc")
    run(compiler, "-std=c11", "-O2", "-s", "-o", str(target), str(LAUNCH))


def _remove_older(current: Path) -> None:
    """Remove templates of another wine or netlab, unless a lab is up that may use one."""
    older = [folder for folder in CACHE.glob(f"{TEMPLATE}*") if folder != current]
    if older and not any(_has_windows_hosts(state.folder_of(name)) for name in state.names()):
        for folder in older:
            shutil.rmtree(folder)


def _has_windows_hosts(folder: Path) -> bool:
    try:
        plan = state.read_plan(folder)
    except HostError:
        return True  # a plan of another version of netlab: its lab may have Windows hosts
    return state.is_complete(folder) and plan is not None and plan.options.windows > 0
