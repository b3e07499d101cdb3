"""Forks without end, in the parent and in every child."""

import os
import time

ENOUGH = 2000

forked = 0
children = []
refused = ""
while forked < ENOUGH and not refused:
    try:
        pid = os.fork()
    except OSError as error:
        refused = str(error)
        break
    if pid == 0:
        end = time.monotonic() + 3
        while time.monotonic() < end:
            try:
                if os.fork() == 0:
                    time.sleep(3)
                    os._exit(0)
            except OSError:
                time.sleep(0.05)
        os._exit(0)
    forked += 1

print(f"forked {forked} times; {refused}")
print("BREACH: no limit on processes" if forked >= ENOUGH else "CONTAINED")
