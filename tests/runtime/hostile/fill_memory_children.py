"""Takes memory in many processes at once, each of them modest."""

import os
import time

STEP = 8 * 1024**2

pids = []
for _ in range(40):
    pid = os.fork()
    if pid == 0:
        held = [bytearray(b"\xa5") * STEP for _ in range(8)]
        time.sleep(4)
        os._exit(len(held) == 0)
    pids.append(pid)
survived = sum(os.waitpid(pid, 0)[1] == 0 for pid in pids)
print(f"BREACH: {survived} children held {survived * 64} MiB" if survived == 40 else "CONTAINED")
