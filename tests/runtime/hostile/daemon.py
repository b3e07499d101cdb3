"""Leaves daemons behind that keep the output open, then ends."""

import os
import signal
import time

for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(3600)
        os._exit(0)
time.sleep(0.2)
print("CONTAINED")
