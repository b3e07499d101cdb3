"""Tries to change what it was given: the interface, the data, itself."""

import os
from pathlib import Path

breaches = []


def attempt(what, change):
    try:
        change()
    except OSError as error:
        print(what, error)
    else:
        breaches.append(what)


targets = [Path("/agent/program.py"), *(path for path in Path("/task").rglob("*") if path.is_file())]
before = {path: path.read_bytes() for path in targets}
for path in targets:
    attempt(f"opened {path} for writing", lambda path=path: path.open("r+b").close())
    attempt(f"appended to {path}", lambda path=path: path.open("ab").close())
    attempt(f"truncated {path}", lambda path=path: os.truncate(path, 0))
    attempt(f"changed the mode of {path}", lambda path=path: path.chmod(0o777))
    attempt(f"removed {path}", path.unlink)
    attempt(f"replaced {path}", lambda path=path: path.rename(path.with_suffix(".old")))
for folder in {path.parent for path in targets} | {Path("/task"), Path("/agent")}:
    attempt(f"created a file in {folder}", lambda folder=folder: (folder / "numpy.py").touch())
    attempt(f"changed the mode of {folder}", lambda folder=folder: folder.chmod(0o777))
if {path: path.read_bytes() for path in targets} != before:
    breaches.append("the bytes changed")
print("\n".join(f"BREACH: {line}" for line in breaches) or "CONTAINED")
