"""Tries every way out to a network: only AF_UNIX may exist inside."""

import os
import socket

FAMILIES = {
    "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16, "AF_PACKET": 17, "AF_ALG": 38, "AF_VSOCK": 40, "AF_BLUETOOTH": 31,
    "AF_CAN": 29, "AF_TIPC": 30, "AF_XDP": 44, "AF_QIPCRTR": 42, "AF_X25": 9, "AF_RDS": 21, "AF_KEY": 15,
    "AF_NFC": 39, "AF_SMC": 43,
}  # fmt: skip
KINDS = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET)

breaches = []
for name, family in FAMILIES.items():
    for kind in KINDS:
        try:
            socket.socket(family, kind).close()
        except OSError as error:
            print(name, int(kind), error)
        else:
            breaches.append(f"created a socket of {name}, type {int(kind)}")

for target in (("127.0.0.1", 22), ("127.0.0.1", 2375), ("169.254.169.254", 80)):
    try:
        socket.create_connection(target, timeout=1).close()
        breaches.append(f"connected to {target}")
    except OSError as error:
        print(target, error)
try:
    breaches.append(f"resolved a name: {socket.getaddrinfo('example.org', 80)[0]}")
except OSError as error:
    print("getaddrinfo", error)

try:
    names = sorted(os.listdir("/sys/class/net"))
except OSError:
    names = []
if set(names) - {"lo"}:
    breaches.append(f"has network interfaces {names}")

print("\n".join(f"BREACH: {line}" for line in breaches) or "CONTAINED")
