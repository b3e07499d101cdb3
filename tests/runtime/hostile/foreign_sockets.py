"""Looks for the engine's socket, other rollouts' gates and any other socket but its own gate."""

import os
import socket
import stat
from pathlib import Path

GATE = "/run/openfingym/gate.sock"

breaches = []
known = (
    "/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock",
    "/run/crio/crio.sock",
    "/run/systemd/private", "/run/dbus/system_bus_socket", "/run/openfingym/../docker.sock",
    "/proc/1/root/run/docker.sock",
)  # fmt: skip
found = {path for path in known if os.path.exists(path)}
for folder, folders, files in os.walk("/"):
    if folder == "/":
        folders[:] = [name for name in folders if name not in {"proc", "sys"}]
    for name in files:
        path = os.path.join(folder, name)
        try:
            if stat.S_ISSOCK(os.lstat(path).st_mode) and path != GATE:
                found.add(path)
        except OSError:
            continue
breaches += [f"found a socket at {path}" for path in sorted(found)]

own = set(os.listdir("/run/openfingym")) if os.path.isdir("/run/openfingym") else set()
if own - {"gate.sock"}:
    breaches.append(f"/run/openfingym holds {sorted(own)}")
changes = (lambda: Path("/run/openfingym/extra").touch(), lambda: os.unlink(GATE), lambda: os.rename(GATE, GATE + "2"))
for change in changes:
    try:
        change()
        breaches.append("changed the gate's folder")
    except OSError as error:
        print(error)

# Abstract sockets live in the network namespace, not in the file system.
try:
    table = Path("/proc/net/unix").read_text().splitlines()[1:]
except OSError:
    table = []
for line in table:
    name = line.split()[-1]
    if name.startswith("@"):
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect("\0" + name[1:])
                breaches.append(f"connected to the abstract socket {name}")
            except OSError as error:
                print(name, error)

print("\n".join(f"BREACH: {line}" for line in breaches) or "CONTAINED")
