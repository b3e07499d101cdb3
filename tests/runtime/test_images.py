"""What the agent image is built from, and what it is called."""

from __future__ import annotations

import tarfile

import pytest

from openfingym.errors import BackendUnavailableError
from openfingym.version import __version__
from openfingym_runtime.docker import images


def test_the_context_holds_the_client_and_nothing_else_of_ours():
    names = [name for name, _ in images.context_files(images.build_context())]
    assert "Dockerfile.agent" in names
    assert "runtime/agent/requirements.txt" in names
    others = [
        name
        for name in names
        if not name.startswith(
            ("Dockerfile.agent", "runtime/agent/openfingym_agent/", "runtime/agent/requirements.txt")
        )
    ]
    assert others == []


def test_the_tag_follows_the_content(tmp_path, monkeypatch):
    context = tmp_path / "context"
    (context / "runtime" / "agent").mkdir(parents=True)
    (context / "Dockerfile.agent").write_text("FROM scratch\n")
    (context / "runtime" / "agent" / "a.py").write_text("1\n")
    monkeypatch.setattr(images, "build_context", lambda: context)
    images.agent_image_tag.cache_clear()
    try:
        first = images.agent_image_tag()
        (context / "runtime" / "agent" / "__pycache__").mkdir()
        (context / "runtime" / "agent" / "__pycache__" / "a.pyc").write_bytes(b"x")
        images.agent_image_tag.cache_clear()
        assert images.agent_image_tag() == first
        (context / "runtime" / "agent" / "a.py").write_text("2\n")
        images.agent_image_tag.cache_clear()
        assert images.agent_image_tag() != first
    finally:
        images.agent_image_tag.cache_clear()
    assert first.startswith(f"openfingym-agent:{__version__}-")


def test_a_ca_bundle_goes_into_the_context_only_where_pip_is_told_to_use_one(tmp_path, monkeypatch):
    bundle = tmp_path / "ca.pem"
    bundle.write_text("certificates")
    monkeypatch.delenv("PIP_CERT", raising=False)
    with tarfile.open(fileobj=images._archive(images.build_context())) as archive:
        assert images.CA_FILE not in archive.getnames()
    monkeypatch.setenv("PIP_CERT", str(bundle))
    with tarfile.open(fileobj=images._archive(images.build_context())) as archive:
        assert images.CA_FILE in archive.getnames()


def test_without_an_engine_it_says_what_to_do(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    with pytest.raises(BackendUnavailableError, match=r"no Docker engine answers.*--backend sandbox"):
        images.ensure_agent_image()


def test_a_failed_build_shows_its_last_lines():
    steps = iter([{"stream": "Step 1\n"}, {"stream": "downloading\n"}, {"error": "no such package"}])
    shown: list[str] = []
    with pytest.raises(images.RuntimeFailureError, match=r"(?s)downloading.*no such package.*OPENFINGYM_BASE_IMAGE"):
        images._follow(steps, "some-base", shown.append)
    assert shown == ["Step 1", "downloading"]
