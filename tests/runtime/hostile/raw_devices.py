"""Looks for disks, kernel memory and other raw devices, and tries to make its own."""

import os
import stat

HARMLESS = {
    (1, 3), (1, 5), (1, 7), (1, 8), (1, 9),  # null, zero, full, random, urandom
    (5, 0), (5, 1), (5, 2),  # tty, console, ptmx
}  # fmt: skip

breaches = []
for folder, _, files in os.walk("/dev"):
    for name in files:
        path = os.path.join(folder, name)
        try:
            info = os.stat(path)
        except OSError:
            continue
        number = (os.major(info.st_rdev), os.minor(info.st_rdev))
        if stat.S_ISBLK(info.st_mode):
            breaches.append(f"{path} is a block device")
        elif stat.S_ISCHR(info.st_mode) and number not in HARMLESS and number[0] != 136:
            breaches.append(f"{path} is the character device {number}")

for path in (
    "/dev/mem",
    "/dev/kmem",
    "/dev/port",
    "/dev/kmsg",
    "/dev/vda",
    "/dev/sda",
    "/dev/nvme0n1",
    "/dev/kvm",
    "/dev/fuse",
    "/dev/net/tun",
    "/dev/vsock",
):
    try:
        os.close(os.open(path, os.O_RDONLY))
        breaches.append(f"opened {path}")
    except OSError as error:
        print(path, error)

devices = (("disk", stat.S_IFBLK, (8, 0)), ("vda", stat.S_IFBLK, (254, 0)), ("mem", stat.S_IFCHR, (1, 1)))
for name, mode, number in devices:
    for folder in ("/work", "/tmp", "/dev"):
        try:
            os.mknod(f"{folder}/{name}", mode | 0o666, os.makedev(*number))
            breaches.append(f"made the device {folder}/{name}")
        except OSError as error:
            print(folder, name, error)
print("\n".join(f"BREACH: {line}" for line in breaches) or "CONTAINED")
