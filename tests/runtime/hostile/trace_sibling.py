"""Tries to read and steer another process of its own user."""

import ctypes
import os
import signal
import time

libc = ctypes.CDLL(None, use_errno=True)
PTRACE_ATTACH, PTRACE_SEIZE = 16, 0x4206

breaches = []
child = os.fork()
if child == 0:
    time.sleep(30)
    os._exit(0)
for name, request in (("attach", PTRACE_ATTACH), ("seize", PTRACE_SEIZE)):
    if libc.ptrace(request, child, 0, 0) == 0:
        breaches.append(f"ptrace {name} worked")


class Span(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


buffer = ctypes.create_string_buffer(8)
span = Span(ctypes.addressof(buffer), 8)
if libc.process_vm_readv(child, ctypes.byref(span), 1, ctypes.byref(span), 1, 0) > 0:
    breaches.append("process_vm_readv worked")
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
print("\n".join(f"BREACH: {line}" for line in breaches) or "CONTAINED")
