"""What a download script is held to: its text is screened before it runs, and a guard in its process reports what it
tries.

The walls are the sandbox and the proxy. The guard is there to say why a script was refused, and can be got round by a
script that means to.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

MARK: Final = "FORGE-REFUSED "
"""How a line of output begins that says what the guard refused."""
# Without os, sys, subprocess, socket and ctypes: a script needs none of them.
IMPORTS: Final = frozenset(
    [
        "pandas",
        "numpy",
        "io",
        "csv",
        "datetime",
        "json",
        "re",
        "math",
        "time",
        "urllib",
        "zipfile",
        "gzip",
        "bz2",
        "collections",
        "itertools",
        "functools",
        "pathlib",
        "string",
        "decimal",
        "calendar",
        "typing",
        "__future__",
        "dataclasses",
        "contextlib",
        "html",
        "warnings",
    ]
)
# Names by which a script could reach what its text does not show.
_CALLS: Final = frozenset(
    ["eval", "exec", "compile", "__import__", "input", "breakpoint", "globals", "getattr", "vars"]
)
# Attributes that lead to the user's files or to other programs; a pickle runs code when it is read.
_MEMBERS: Final = frozenset(["expanduser", "home", "environ", "system", "popen", "read_pickle", "to_pickle"])
_PLACES: Final = re.compile(r"^(~|/(home|root|etc|proc|var|run|sys)\b)|\.(ssh|aws|netrc|config|git)\b")

# NumPy and pandas are imported before the guard is up: what loading them does is not the script's doing. Every request
# of urllib, which pandas uses as well, goes to the proxy's socket with the whole address in place of the path.
GUARD: Final = """
import http.client, os, socket, sys, urllib.request
import numpy, pandas

def _guarded():
    home = os.path.realpath(os.environ.get("HOME", "/work"))
    system = tuple({"/usr", "/lib", "/lib64", "/opt", "/dev/null", "/dev/urandom", "/proc/", "/sys/", "/etc/ssl",
                    "/etc/localtime", "/etc/mime.types", "/tmp", "/task", "/work", sys.prefix, sys.base_prefix,
                    *(path for path in sys.path if path)})
    forbidden = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty"}

    def refuse(what):
        os.write(2, ("\\n" + MARK + what[:300] + "\\n").encode())
        raise PermissionError(what)

    def look(path):
        whole = os.path.abspath(os.fsdecode(path))
        inside = os.path.relpath(whole, home).split(os.sep) if whole.startswith(home + os.sep) else []
        if not whole.startswith(system) or any(part.startswith(".") for part in inside):
            refuse("the script reads or lists " + whole)

    def audit(event, arguments):
        if event in ("open", "os.listdir", "os.scandir"):
            if arguments and isinstance(arguments[0], (str, bytes)):
                look(arguments[0])
        elif event in forbidden:
            refuse("the script starts a program: " + repr(arguments)[:200])
        elif event == "socket.connect" and arguments[1] != SOCKET:
            refuse("the script connects to " + repr(arguments[1])[:200])
        elif event == "socket.getaddrinfo":
            refuse("the script looks up " + repr(arguments[0])[:200])

    class Connection(http.client.HTTPConnection):
        def connect(self):
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.sock.connect(SOCKET)

    class Plain(urllib.request.HTTPHandler):
        def http_open(self, request):
            request.selector = request.full_url
            return self.do_open(Connection, request)

    class Secure(urllib.request.HTTPSHandler):
        def https_open(self, request):
            request.selector = request.full_url
            return self.do_open(Connection, request)

    urllib.request.install_opener(urllib.request.build_opener(Plain, Secure))
    sys.addaudithook(audit)

_guarded()
del _guarded
"""


def program_of(script: str, socket_path: str) -> str:
    """The program that runs a script behind the guard.

    Args:
        script: source of the script.
        socket_path: path of the proxy's socket, as the program sees it.
    """
    head = f"MARK, SOCKET = {MARK!r}, {socket_path!r}\n"
    # A source of its own, so that line numbers of an error are the script's.
    return f"{head}{GUARD}\nexec(compile({script!r}, 'download.py', 'exec'), {{'__name__': '__main__'}})\n"


def screen(script: str, hosts: Collection[str]) -> list[str]:
    """What a script has in its text that it may not have, each with its line; empty where it may run.

    Args:
        script: source of the script.
        hosts: hosts that its addresses may name, each ``host`` or ``host:port``.
    """
    try:
        tree = ast.parse(script)
    except (SyntaxError, ValueError, RecursionError) as error:
        return [f"it is no Python: {error}"]
    problems: list[str] = []
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        problems += [f"line {line}: {why}" for why in _wrong(node, hosts)]
    return list(dict.fromkeys(problems))


def _wrong(node: ast.AST, hosts: Collection[str]) -> list[str]:
    """What is wrong with one node of a script."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or "."]
        return [f"imports {name}, which it may not" for name in names if name.partition(".")[0] not in IMPORTS]
    if isinstance(node, ast.Name) and node.id in _CALLS:
        return [f"uses {node.id}"]
    if isinstance(node, ast.Attribute) and (node.attr in _MEMBERS or node.attr.startswith("__")):
        return [f"uses {node.attr}"]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _wrong_text(node.value, hosts)
    return []


def _wrong_text(text: str, hosts: Collection[str]) -> list[str]:
    """What is wrong with a text in a script, which may be a path or an address."""
    if _PLACES.search(text):
        return [f"names a place that is none of its business: {text[:80]!r}"]
    if not re.match(r"https?://", text):
        return []
    parts = urlsplit(text)
    host = (parts.hostname or "").lower()
    named = {host, f"{host}:{parts.port or (443 if parts.scheme == 'https' else 80)}"}
    return [] if named & set(hosts) else [f"names the host {host}, which is none of {', '.join(sorted(hosts))}"]
