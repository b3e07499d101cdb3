"""Writes until nothing more fits, wherever it may write."""

from pathlib import Path

ENOUGH = 2 * 1024**3
BLOCK = b"\xa5" * 1024**2

breaches = []
for folder in ("/work", "/tmp", "/dev/shm", "/run", "/var/tmp"):
    written = 0
    try:
        with Path(folder, "filler").open("wb", buffering=0) as stream:
            while written < ENOUGH:
                written += stream.write(BLOCK)
    except OSError as error:
        print(folder, written, error)
    if written >= ENOUGH:
        breaches.append(f"BREACH: wrote {written} bytes into {folder}")
    Path(folder, "filler").unlink(missing_ok=True) if written else None

# Many empty files: inodes are a resource too.
made = 0
try:
    for made in range(3_000_000):
        Path("/work", f"n{made}").touch()
        if made % 100_000 == 99_999:
            print("inodes", made + 1)
except OSError as error:
    print("inodes", made, error)
else:
    breaches.append("BREACH: no limit on the number of files")
print("\n".join(breaches) or "CONTAINED")
