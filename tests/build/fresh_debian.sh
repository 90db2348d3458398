#!/usr/bin/env bash
# fresh_debian.sh: makes a fresh Debian, installs a copy of this checkout in it as an ordinary user,
# once by pip and once by pipx, and has `netlab measure` answer. Each way may take BOUND_S from the
# begin of the installation to the answer. Prints the answers and the seconds.
# Root; needs debootstrap, and 2 GB of memory: the system is in a tmpfs of a mount namespace, and
# gone with it however this ends. Packages, pip's settings and certificates come from where this
# machine's come from.
set -euo pipefail
BOUND_S=${BOUND_S:-90}
packages=python3,python3-venv,pipx,git,gcc,libc6-dev,make,ca-certificates
checkout=$(cd "$(dirname "$0")/../.." && pwd)

if [ "${1-}" != --inside ]; then
    place=$(mktemp -d)
    # Unshare hears no TERM; when it is killed so is all that it began.
    trap 'kill -KILL "${inside-}" 2>/dev/null || true; rmdir "$place"' EXIT
    unshare --mount --propagation private --pid --fork --kill-child --mount-proc "$0" --inside "$place" &
    inside=$!
    wait "$inside"
    exit
fi

place=$2
root=$place/root home=$place/root/home/newcomer
mount -t tmpfs -o mode=755,size=4g tmpfs "$place"
# The mirror that this machine's apt uses; where that has another release: debootstrap's own.
mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk '$2 == "bookworm" && $3 == "main" && !found { found = 1; print $1 }')
began=$SECONDS
debootstrap --variant=minbase --include="$packages" bookworm "$root" ${mirror:+"$mirror"} >"$place/log" 2>&1 ||
    { tail -n 20 "$place/log" >&2; exit 1; }
echo "a fresh Debian: $((SECONDS - began)) s"

mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
ln -s /proc/self/fd "$root/dev/fd"
mkdir -m 1777 "$root/dev/shm"
chroot "$root" useradd --create-home --shell /bin/bash newcomer

# Names, certificates and pip's settings are this machine's.
for file in /etc/resolv.conf /etc/hosts /etc/pip.conf \
    "${PIP_CONFIG_FILE-}" "${PIP_CERT-}" "${SSL_CERT_FILE-}" "${REQUESTS_CA_BUNDLE-}"; do
    [ -f "$file" ] || continue
    mkdir -p "$root$(dirname "$file")"
    cp --dereference --remove-destination "$file" "$root$file"
done
for file in "$HOME/.pip/pip.conf" "$HOME/.config/pip/pip.conf"; do
    [ -f "$file" ] && install -D "$file" "$home/.config/pip/pip.conf"
done
surroundings=()
for name in $(compgen -e); do
    case $name in PIP_* | SSL_CERT_* | REQUESTS_CA_BUNDLE | *_proxy) ;; *) continue ;; esac
    case ${!name} in /*) [ -e "$root${!name}" ] || continue ;; esac  # a place of this machine alone
    surroundings+=("$name=${!name}")
done

# What git knows of the checkout as it is now, without what was built in it.
mkdir "$home/netlab"
git -c safe.directory='*' -C "$checkout" ls-files -z --cached --others --exclude-standard |
    tar -C "$checkout" --null --files-from - --ignore-failed-read -cf - 2>/dev/null |
    tar -C "$home/netlab" -xf -
chroot "$root" chown -R newcomer: /home/newcomer

status=0
try() {  # name, command
    local from=$EPOCHREALTIME
    chroot --userspec=newcomer:newcomer "$root" \
        env -i HOME=/home/newcomer USER=newcomer LANG=C.UTF-8 \
        PATH=/home/newcomer/.local/bin:/usr/local/bin:/usr/bin:/bin \
        ${surroundings[@]+"${surroundings[@]}"} bash -euc "rm -rf ~/.cache; mkdir ~/$1; cd ~/$1; $2"
    awk -v name="$1" -v from="$from" -v to="$EPOCHREALTIME" -v most="$BOUND_S" 'BEGIN {
        printf "%s: %.1f s from the begin of the installation to the answer, of %d s\n", name, to - from, most
        exit to - from >= most
    }' || status=1
}
try pip 'python3 -m venv venv; venv/bin/pip install --quiet ../netlab; venv/bin/netlab measure --seconds 1'
try pipx 'pipx install ../netlab; netlab measure --seconds 1'
exit "$status"
