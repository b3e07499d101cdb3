"""Running a forge over a corpus with an answer key, while the data that its papers point at are served here."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from urllib.parse import urlsplit

from openfingym_forge.bench.key import KeyPaper, read_key
from openfingym_forge.bench.marking import ForgeBench, mark_forge
from openfingym_forge.folder import ForgeFolder, ForgeSettings
from openfingym_forge.pipeline import AT_ONCE, INSTALL, Progress
from openfingym_forge.running import run_forge


@dataclass(frozen=True)
class BenchCorpus:
    """Papers with an answer key."""

    papers: Path
    """Folder of the papers."""
    key: Path
    """Folder that holds ``KEY.toml``, or such a file itself."""
    served: Path | None = None
    """Folder of the files that are served in place of the hosts that the papers name; None to reach these hosts."""


def shipped_corpus() -> BenchCorpus:
    """The corpus that the forge brings: small papers written for it, which are not real ones."""
    package = Path(str(resources.files("openfingym_forge")))
    # In the wheel it lies in the package; in a checkout, with the tests.
    installed = package / "_bench"
    root = installed if installed.is_dir() else package.parent / "tests" / "openfingym_forge"
    return BenchCorpus(root / "corpus", root / "key", root / "served")


def run_bench(
    settings: ForgeSettings,
    corpus: BenchCorpus,
    root: Path,
    *,
    jobs: int = AT_ONCE,
    upto: str = INSTALL,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> ForgeBench:
    """Run a forge over a corpus, and mark it.

    Args:
        settings: models, budget and backend of the forge.
        corpus: the papers, and what should be found in them.
        root: folder of the forge; if there is one already, the run goes on with it.
        jobs: number of papers that are worked on at the same time.
        upto: name of the last stage to do.
        on_progress: called with the last stage of each paper.

    Raises:
        UsageError: the corpus or its key cannot be read, or the forge in the folder was begun with other settings.
        StoreError: something cannot be written.
    """
    # First: a key that cannot be read must not cost a run.
    key = read_key(corpus.key)
    with _served(corpus.served, key) as hosts:
        forge = ForgeFolder.begin(root, replace(settings, local_hosts=(*settings.local_hosts, *hosts)))
        for progress in run_forge(forge, corpus.papers, jobs=jobs, upto=upto):
            on_progress(progress)
    return mark_forge(forge, key, upto=upto)


@contextlib.contextmanager
def _served(folder: Path | None, key: Mapping[str, KeyPaper]) -> Iterator[tuple[str, ...]]:
    """Serve a folder in place of the hosts that papers name, for the time of the block.

    Args:
        folder: folder of the files; None to serve nothing.
        key: the key, in which the papers' addresses stand.

    Yields:
        The hosts, as :attr:`ForgeSettings.local_hosts` has them.
    """
    addresses = [str(paper.fields["data.url"]) for paper in key.values() if "data.url" in paper.fields]
    hosts = sorted({host for address in addresses if (host := urlsplit(address).hostname)})
    if folder is None or not hosts:
        yield ()
        return
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield tuple(f"{host}=127.0.0.1:{server.server_address[1]}" for host in hosts)
        finally:
            server.shutdown()
            thread.join()


class _Quiet(SimpleHTTPRequestHandler):
    """Serves files, and prints nothing."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name in the standard library
        """Print nothing."""
