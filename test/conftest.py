"""Environment variables for every Python test; they must be set before torch is imported."""

from __future__ import annotations

import os

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
# Two threads on busy cores wait for each other at every operation.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

# They need packages that are installed for them alone: `make test-vllm`, `make test-targets`.
needs = {
    "with-vllm": "WHET_TEST_VLLM",
    "with-targets/test_tau2.py": "WHET_TEST_TAU2",
    "with-targets/test_toolsandbox.py": "WHET_TEST_TOOLSANDBOX",
    "with-targets/test_openenv.py": "WHET_TEST_OPENENV",
    "with-targets/test_verifiers.py": "WHET_TEST_VERIFIERS",
}
collect_ignore = [path for path, variable in needs.items() if not os.environ.get(variable)]
