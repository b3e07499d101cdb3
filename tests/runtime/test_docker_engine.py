"""The engine's description of itself is judged without an engine."""

from __future__ import annotations

import pytest

from openfingym.errors import BackendUnavailableError
from openfingym_runtime.docker.engine import require

CAPABLE = {
    "OSType": "linux",
    "OperatingSystem": "Debian",
    "SecurityOptions": ["name=seccomp,profile=builtin"],
    "MemoryLimit": True,
    "SwapLimit": True,
    "PidsLimit": True,
    "CpuCfsQuota": True,
    "KernelVersion": "5.10.0-28-cloud-amd64",
}


@pytest.mark.parametrize("host", [None, "", "unix:///run/user/1000/docker.sock"])
def test_an_engine_on_this_machine_is_accepted_however_it_is_named(monkeypatch, host):
    if host is None:
        monkeypatch.delenv("DOCKER_HOST", raising=False)
    else:
        monkeypatch.setenv("DOCKER_HOST", host)
    require(CAPABLE)


def test_an_engine_elsewhere_is_refused(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "ssh://somebody@elsewhere")
    with pytest.raises(BackendUnavailableError, match="on this machine"):
        require(CAPABLE)


@pytest.mark.parametrize("version", ["4.19.0-26-amd64", ""])
def test_a_kernel_on_which_no_process_answers_anothers_calls_is_refused(monkeypatch, version):
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    with pytest.raises(BackendUnavailableError, match="must be Linux"):
        require(CAPABLE | {"KernelVersion": version})
