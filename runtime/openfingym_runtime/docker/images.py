"""The agent image of this release, in which programs run under Docker: its name, and building it.

Run as a program, ``python -m openfingym_runtime.docker.images`` builds the image and prints its tag; with
``--tag`` it prints the tag only, for which the standard library is enough.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import sys
import tarfile
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from openfingym.errors import BackendUnavailableError, OpenFinGymError, RuntimeFailureError
from openfingym.machine import Libraries
from openfingym.version import __version__
from openfingym_runtime.packages import libraries_among, normalized

if TYPE_CHECKING:
    from docker import APIClient

DOCKERFILE = "Dockerfile.agent"
DEFAULT_BASE_IMAGE = "python:3.11-slim"
BUILD_TIMEOUT_S = 1800
"""Longest silence of a build: what it downloads may take minutes."""
CA_FILE = "build-ca.pem"
"""Name in the build context of the certificates that pip is to trust during the build."""
PASSED_ON = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
"""Variables of this process that become build arguments; they serve the build and stay out of the image."""
LAST_LINES = 15
"""Lines of a failed build that the error message repeats."""


def build_context() -> Path:
    """The folder with ``Dockerfile.agent`` and ``runtime/agent``: inside the installed package, or a checkout.

    Raises:
        RuntimeFailureError: the files are missing from the installation.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "_image", package.parents[1]):
        if (folder / DOCKERFILE).is_file() and (folder / "runtime" / "agent").is_dir():
            return folder
    raise RuntimeFailureError(f"{package / '_image'}: the agent image's files are missing; reinstall openfingym")


def context_files(context: Path) -> Iterator[tuple[str, Path]]:
    """The files an agent image is built from, by their names in the build context, sorted."""
    paths = [context / DOCKERFILE, *(context / "runtime" / "agent").rglob("*")]
    # Sorted, because the image's tag is a digest over them in this order.
    for path in sorted(paths):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(context).as_posix(), path


@cache
def agent_image_tag() -> str:
    """``openfingym-agent:<version>-<digest>`` with the digest of the build context: another context, another image."""
    digest = hashlib.sha256()
    for name, path in context_files(build_context()):
        digest.update(f"{name}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return f"openfingym-agent:{__version__}-{digest.hexdigest()[:12]}"


def agent_image_libraries() -> Libraries:
    """Which libraries the agent image of this release holds, by the list that it is built from."""
    lines = (build_context() / "runtime" / "agent" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return libraries_among({normalized(line) for line in lines if line.strip() and not line.startswith("#")})


def ensure_agent_image(base: str | None = None, *, log: Callable[[str], None] | None = None) -> str:
    """Build the agent image unless the engine has it, and return its tag.

    Args:
        base: image to build on; by default $OPENFINGYM_BASE_IMAGE, or else python:3.11-slim.
        log: function that is called with each line that the build prints; None for silence.

    Raises:
        BackendUnavailableError: no Docker engine answers.
        RuntimeFailureError: the build failed; the message has the last lines that it printed.
    """
    from docker.errors import DockerException

    from openfingym_runtime.docker import engine as docker_engine

    tag = agent_image_tag()
    base = base or os.environ.get("OPENFINGYM_BASE_IMAGE") or DEFAULT_BASE_IMAGE
    with contextlib.ExitStack() as stack:
        try:
            api = stack.enter_context(docker_engine.client(timeout_s=BUILD_TIMEOUT_S))
            present = api.images(tag, quiet=True)
        except (DockerException, OSError) as error:
            raise BackendUnavailableError(docker_engine.unavailable(error)) from error
        if not present:
            with docker_engine.failures():
                _build(api, tag, base, log)
    return tag


def _build(api: APIClient, tag: str, base: str, log: Callable[[str], None] | None) -> None:
    arguments = {"BASE_IMAGE": base} | {name: os.environ[name] for name in PASSED_ON if os.environ.get(name)}
    steps = api.build(
        fileobj=_archive(build_context()),
        custom_context=True,
        dockerfile=DOCKERFILE,
        buildargs=arguments,
        tag=tag,
        rm=True,
        forcerm=True,
        decode=True,
    )
    _follow(steps, base, log)


def _follow(steps: Iterator[dict[str, str]], base: str, log: Callable[[str], None] | None) -> None:
    """Pass on the lines that a build prints, and raise if it fails."""
    last: deque[str] = deque(maxlen=LAST_LINES)
    for step in steps:
        for line in step.get("stream", "").splitlines():
            if line.strip():
                last.append(line)
                if log is not None:
                    log(line)
        if "error" in step:
            lines = "\n  ".join((*last, step["error"].strip()))
            raise RuntimeFailureError(
                f"building the agent image on {base} failed:\n  {lines}\n"
                "If the base image could not be fetched, name another with Python and pip in OPENFINGYM_BASE_IMAGE,"
                f" such as a mirror's {DEFAULT_BASE_IMAGE} or one that `docker load` has put there."
            )


def _archive(context: Path) -> io.BytesIO:
    """The build context as a tar file, with the host's CA bundle if pip is told to use one by ``PIP_CERT``."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, path in context_files(context):
            _add(archive, name, path.read_bytes())
        bundle = os.environ.get("PIP_CERT")
        if bundle:
            _add(archive, CA_FILE, Path(bundle).read_bytes())
    buffer.seek(0)
    return buffer


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    entry.mode = 0o644
    archive.addfile(entry, io.BytesIO(content))


def main() -> int:
    """Build the agent image unless ``--tag`` is given, and print its tag."""

    def show(line: str) -> None:
        sys.stderr.write(line + "\n")

    try:
        tag = agent_image_tag() if sys.argv[1:] == ["--tag"] else ensure_agent_image(log=show)
    except OpenFinGymError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    sys.stdout.write(tag + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
