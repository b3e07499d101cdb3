"""Takes memory and touches it until it is stopped."""

ENOUGH = 8 * 1024**3
STEP = 16 * 1024**2

held = []
while len(held) * STEP < ENOUGH:
    held.append(bytearray(b"\xa5") * STEP)
print(f"BREACH: holds {len(held) * STEP} bytes")
