"""Tries to create a file in every folder there is; only the scratch folders may let it."""

import os

SCRATCH = ("/work", "/tmp", "/dev/shm", "/dev/mqueue")

breaches = []
tried = 0
for folder, folders, _ in os.walk("/"):
    if folder == "/proc":
        folders[:] = [name for name in folders if not name.isdigit()]
    if folder in SCRATCH:
        folders.clear()
        continue
    path = os.path.join(folder, "planted")
    tried += 1
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
    except OSError:
        continue
    breaches.append(f"created {path}")
print(f"tried {tried} folders")
print("\n".join(f"BREACH: {line}" for line in breaches[:20]) or "CONTAINED")
