"""Environment variables for every Python test; they must be set before torch is imported."""

from __future__ import annotations

import os

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
# Two threads on busy cores wait for each other at every operation.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

# They start servers of vLLM, which is installed for them alone: `make test-vllm`.
collect_ignore = [] if os.environ.get("WHET_TEST_VLLM") else ["with-vllm"]
