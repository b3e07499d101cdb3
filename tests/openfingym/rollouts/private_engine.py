"""A Docker engine of a test's own, which may be killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psutil

from openfingym_runtime.docker.images import agent_image_tag
from tests.openfingym.rollouts.driving import alive, descendants

PATIENCE_S = 60.0


class PrivateEngine:
    """A second engine beside the machine's, with the agent image and no network."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="ofg-", dir="/tmp"))  # short: unix sockets go there
        self.host = f"unix://{self.root}/docker.sock"
        self._process: subprocess.Popen[bytes] | None = None
        # In memory: an image has tens of thousands of files, which a disk takes its time to write and to remove.
        (self.root / "data").mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3g", "tmpfs", str(self.root / "data")], check=True)

    @staticmethod
    def obstacle() -> str | None:
        """Why there can be none here."""
        if os.geteuid() != 0:
            return "only root can start a Docker engine"
        return None if shutil.which("dockerd") else "there is no dockerd here"

    def load_agent_image(self) -> None:
        """Copy the agent image from the machine's engine."""
        with subprocess.Popen(["docker", "save", agent_image_tag()], stdout=subprocess.PIPE) as saved:
            subprocess.run(["docker", "-H", self.host, "load"], stdin=saved.stdout, check=True, capture_output=True)
        assert saved.returncode == 0

    def start(self) -> None:
        """Start it, or start it again, and wait until it answers."""
        for stale in (self.root / "pid", self.root / "exec/containerd/containerd.pid"):
            stale.unlink(missing_ok=True)  # a killed one leaves them, and takes whoever has the number for alive
        where = [
            "--data-root",
            self.root / "data",
            "--exec-root",
            self.root / "exec",
            "--pidfile",
            self.root / "pid",
            "-H",
            self.host,
        ]
        no_network = ["--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"]
        with (self.root / "log").open("ab") as log:
            # In a network of its own: an engine without a bridge removes the bridge of the machine's.
            command = ["unshare", "--net", "dockerd", *where, *no_network]
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        until = time.monotonic() + PATIENCE_S
        while self._docker("version", check=False).returncode:
            assert self._process.poll() is None, (self.root / "log").read_text()[-2000:]
            assert time.monotonic() < until, "it does not answer"
            time.sleep(0.05)

    def stop(self, how: signal.Signals) -> None:
        """End it, and wait until it has ended."""
        assert self._process is not None
        below = descendants(self._process.pid)
        self._process.send_signal(how)
        self._process.wait(PATIENCE_S)
        # What holds a running container outlives the engine by design; in its first moments it is a child still.
        left = [one for one in alive(below) if "shim" not in _command(one)]
        assert left == []

    def containers(self) -> list[str]:
        """All it has, and how they are."""
        return self._docker("ps", "-a", "--format", "{{.Names}} {{.Status}}").stdout.splitlines()

    def remove(self) -> None:
        """End it, and remove everything of it."""
        if self._process is not None and self._process.poll() is None:
            self.stop(signal.SIGTERM)
        mounted = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
        for place in reversed(mounted):
            if Path(place).is_relative_to(self.root):
                subprocess.run(["umount", place], check=True)
        shutil.rmtree(self.root)

    def _docker(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["docker", "-H", self.host, *arguments], capture_output=True, text=True, check=check)


def _command(process: psutil.Process) -> str:
    """What a process was started as; empty where it has just ended."""
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""
