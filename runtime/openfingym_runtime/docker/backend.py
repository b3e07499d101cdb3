"""The ``docker`` backend: an agent's program in a container of a local Docker engine."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openfingym.errors import BackendUnavailableError, RuntimeFailureError
from openfingym.machine import Libraries
from openfingym_runtime import owned_directory, views
from openfingym_runtime.docker import container as docker_container
from openfingym_runtime.docker import engine as docker_engine
from openfingym_runtime.docker import images
from openfingym_runtime.docker.ending import ContainerEnding
from openfingym_runtime.docker.output import CANCEL_CHECK_S, Output, follow
from openfingym_runtime.job import BROUGHT, EndedBy, Job, Outcome
from openfingym_runtime.owner import is_alive
from openfingym_runtime.users import NOBODY, own_user

if TYPE_CHECKING:
    from docker import APIClient

CREATE_RETRIES = 5
"""How often a container is looked for, a tenth of a second apart, if its creation was interrupted."""
LOOK_S = 0.5
"""Seconds between two looks for an engine that is away."""
REMEDY = "build it with `openfingym image build`"
"""What to do where the agent image is missing."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class EngineFacts:
    """Facts about the engine, which are asked for once."""

    api_version: str
    """Version of the API that the engine speaks; a client that knows it need not ask."""
    image_id: str
    """``sha256:`` and the digest of the agent image's contents; what is run, whatever its tag comes to mean."""
    image_environment: tuple[str, ...]
    """Variables that the agent image sets, each as ``NAME=VALUE``."""
    own_users: bool
    """Whether a container may run as any user id; an engine that maps user ids has only some of them."""


class DockerBackend:
    """Runs each job in a container of its own; safe to use from many threads."""

    name = "docker"

    def __init__(self, image: str | None = None) -> None:
        """Use ``image``, by default the agent image of this release; the engine is not contacted yet."""
        self._image = image or images.agent_image_tag()
        self._left: set[str] = set()
        """Names of containers that could not be removed because the engine was away."""
        self._away = False
        """Whether the engine is known to be away, so that this is logged once and not at every look."""
        self._engine: EngineFacts | None = None
        # The first rollouts of several threads ask for the engine's facts at once.
        self._lock = threading.Lock()

    def environment(self) -> dict[str, object]:
        """See :class:`openfingym_runtime.job.Backend`."""
        identity = self._known_engine().image_id
        return {"image": self._image, "image_id": identity, "digest": identity.removeprefix("sha256:")}

    def libraries(self) -> Libraries | None:
        """See :class:`openfingym_runtime.job.Backend`; of another image than this release's own nothing is known."""
        return images.agent_image_libraries() if self._image == images.agent_image_tag() else None

    def check(self) -> None:
        """Return if the engine can keep the backend's promises, and remove what dead launchers left behind.

        Raises:
            BackendUnavailableError: no engine answers, this user may not use it, it lacks the agent image, or it cannot
                enforce one of the limits.
        """
        self._known_engine()

    def run(self, job: Job) -> Outcome:
        """Run ``job`` in a new container to its end, and remove the container.

        Exit codes 129 to 159 are reported as the signal that ended the program, -1 to -31.

        Raises:
            BackendUnavailableError: the engine lacks a feature that isolation needs; see :meth:`check`, which runs
                first if it has not yet.
            RuntimeFailureError: the engine failed or was stopped, somebody killed the container, or a task file cannot
                be shown.
        """
        engine = self._known_engine()
        docker_container.check_readable(job)
        with (
            views.view(job.task_files) as shown,
            _view_of(job.brought) as brought,
            docker_engine.failures(),
            owned_directory.owned_directory() as folder,
            docker_engine.client(engine.api_version) as api,
        ):
            program = folder / "program.py"
            # A text that is no UTF-8 is the agent's mistake: Python will say so inside.
            program.write_bytes(job.program.encode("utf-8", "surrogatepass"))
            # Whatever the umask: the user inside is another one.
            program.chmod(0o644)
            # An engine that maps user ids may not have this one; all programs then share a user.
            user = own_user() if engine.own_users else NOBODY
            deadline = time.time() + job.limits.timeout_s
            config = docker_container.config(
                replace(job, task_files=shown, brought=brought),
                engine.image_id,
                engine.image_environment,
                program,
                user,
                deadline,
            )
            with self._container(api, config, docker_container.name_of(job)) as container:
                return _execute(api, container, job)

    def ready(self, patience_s: float, cancel: threading.Event) -> None:
        """Wait for an engine that is being restarted, and remove what could not be removed without it.

        Raises:
            BackendUnavailableError: the engine does not come back within ``patience_s`` seconds.
        """
        until = time.monotonic() + patience_s
        while not cancel.is_set():
            try:
                docker_engine.probe()
            except OSError as error:
                if time.monotonic() > until:
                    raise BackendUnavailableError(docker_engine.unavailable(error)) from error
                if not self._away:
                    _log.warning("%s; waiting for it, up to %.0f s", docker_engine.unavailable(error), patience_s)
                self._away = True
                cancel.wait(LOOK_S)
            else:
                self._away = False
                self.tidy()
                return

    def tidy(self) -> None:
        """Remove the containers that could not be removed while the engine was away. If it still is, they go at the
        next :meth:`check` of any launcher once this process has ended.
        """
        for name in tuple(self._left):
            with contextlib.suppress(RuntimeFailureError), docker_engine.failures(), docker_engine.client(None) as api:
                _remove(api, name)
                self._left.discard(name)

    def reap(self) -> int:
        """Remove the containers of dead launchers, and return how many there were.

        Raises:
            RuntimeFailureError: the Docker engine failed.
        """
        with docker_engine.failures(), docker_engine.client(None) as api:
            return _reap(api)

    @contextlib.contextmanager
    def _container(self, api: APIClient, config: dict[str, Any], name: str) -> Iterator[str]:
        """Create a container, and remove it whatever happens; one that cannot be removed now is remembered."""
        created = False
        try:
            api.create_container_from_config(config, name)  # type: ignore[no-untyped-call]  # as types-docker has it
            created = True
            yield name
        finally:
            try:
                with docker_engine.failures():
                    # An engine that was interrupted while creating may still make the container a moment later, so it
                    # is looked for a few times, under the name that was chosen for it.
                    for _ in range(1 if created else CREATE_RETRIES):
                        if _remove(api, name) or created:
                            break
                        time.sleep(CANCEL_CHECK_S)
            except RuntimeFailureError:
                # The engine is away: the container is removed once it answers again, see tidy().
                self._left.add(name)

    def _known_engine(self) -> EngineFacts:
        with self._lock:
            if self._engine is None:
                self._engine = self._inspect()
            return self._engine

    def _inspect(self) -> EngineFacts:
        from docker.errors import DockerException, ImageNotFound

        try:
            with docker_engine.client(None) as api:
                info = api.info()
                docker_engine.require(info)
                image = api.inspect_image(self._image)  # type: ignore[no-untyped-call]  # as types-docker has it
                _reap(api)
                # Folders of dead launchers may be in the default place, and where files are shown from.
                for parent in (None, views.parent()):
                    owned_directory.reap(parent)
                return EngineFacts(
                    api.api_version,
                    image["Id"],
                    tuple(image["Config"].get("Env") or ()),
                    docker_engine.has_all_users(info),
                )
        except ImageNotFound:
            raise BackendUnavailableError(f"the engine has no image {self._image}; {REMEDY}") from None
        except (DockerException, OSError) as error:
            raise BackendUnavailableError(docker_engine.unavailable(error)) from error


def _reap(api: APIClient) -> int:
    dead = [
        container["Id"]
        for container in api.containers(all=True, filters={"label": docker_container.OWNER_LABEL})
        if not is_alive(container["Labels"][docker_container.OWNER_LABEL])
    ]
    for identity in dead:
        _remove(api, identity)
    return len(dead)


def _remove(api: APIClient, name: str) -> bool:
    """Kill and remove a container, and its volumes; False if no container has that name."""
    from docker.errors import APIError, NotFound

    try:
        api.remove_container(name, force=True, v=True)
    except NotFound:
        return False
    except APIError as error:
        if error.status_code != 409:  # 409: somebody else is removing it at this moment
            raise
    return True


@contextlib.contextmanager
def _view_of(brought: Path | None) -> Iterator[Path | None]:
    """A folder that the user brought along, in a neutral place; None without one, for which nothing is made."""
    if brought is None:
        yield None
        return
    with views.view({BROUGHT: brought}) as shown:
        yield shown[BROUGHT]


def _execute(api: APIClient, container: str, job: Job) -> Outcome:
    """Start a container and follow it to its end, which shows in the end of its output."""
    output = Output(job.limits.output_bytes)
    # Events, too, are listened for from before the start: one that is missed is not told again.
    with contextlib.closing(ContainerEnding(api, container)) as ending:
        # Attached before the start, so that no byte of the output is missed.
        stream = api.attach_socket(container, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
        try:
            api.start(container)
            # From here on, since what the engine takes to start a container is not the program's time.
            started = time.monotonic()
            job.started()
            stop_at = started + job.limits.timeout_s
            end = follow(stream.fileno(), job, stop_at, output)
            ended_by: EndedBy
            ended_by, exit_code = ending.wait(job, stop_at) if end == "end" else (end, None)
            return Outcome(
                ended_by=ended_by, exit_code=exit_code, output=bytes(output.data), wall_s=time.monotonic() - started
            )
        finally:
            _hang_up(stream)


def _hang_up(stream: Any) -> None:
    """Shut an attach stream down: an engine that waits for us to read on cannot remove the container."""
    # Closing the Python objects alone leaves the connection open for as long as something refers to one of them.
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(stream.fileno())) as connection:
        connection.shutdown(socket.SHUT_RDWR)
    stream._response.close()
    stream.close()
