"""Kills every process it can reach."""

import os
import signal
from pathlib import Path

outside = [pid.name for pid in Path("/proc").glob("[0-9]*") if b"dockerd" in (pid / "cmdline").read_bytes()]
for target in (1, -1):
    try:
        os.kill(target, signal.SIGKILL)
    except OSError as error:
        print(target, error)
print(f"BREACH: sees host processes {outside}" if outside else "CONTAINED")
