"""Commands of workload templates for GPU pools. They fail if the container cannot use its GPUs.

nvidia-smi is not sufficient, because it opens no CUDA context: it also succeeds if the MPS server cannot be reached.
"""

from __future__ import annotations

OPEN_CONTEXTS = """\
import ctypes

cuda = ctypes.CDLL("libcuda.so.1")
count, device, context = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p()

def call(name, *arguments):
    if code := getattr(cuda, name)(*arguments):
        raise SystemExit(f"{name} failed with CUDA error {code}")

call("cuInit", 0)
call("cuDeviceGetCount", ctypes.byref(count))
for number in range(count.value):
    call("cuDeviceGet", ctypes.byref(device), number)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
print(f"opened a CUDA context on {count.value} devices", flush=True)
"""
"""A Python program that opens a CUDA context on every GPU, MIG slice or GPU share of the container.

Source: CUDA driver API reference, primary context management (https://docs.nvidia.com/cuda/cuda-driver-api)
"""

SERVE = """\
import http.server, signal

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()

def stop(*_):
    raise SystemExit(0)

signal.signal(signal.SIGTERM, stop)
http.server.ThreadingHTTPServer(("", PORT), Handler).serve_forever()
"""
"""A Python program that answers the probes on PORT, and ends at SIGTERM. Process 1 ignores SIGTERM by default."""


def open_contexts() -> list[str]:
    """Returns a command that opens a CUDA context on every GPU and ends; not with 0 if a context cannot be opened."""
    return ["python3", "-c", OPEN_CONTEXTS]


def serve(port: int, *, has_gpu: bool) -> list[str]:
    """Returns a command that opens a CUDA context on every GPU, and then answers HTTP requests for /health."""
    server = SERVE.replace("PORT", str(port))
    return ["python3", "-c", f"{OPEN_CONTEXTS}\n{server}" if has_gpu else server]
