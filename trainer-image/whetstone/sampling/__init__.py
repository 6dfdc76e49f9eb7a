"""The source of rollouts: the engine in this process, or a vLLM server (docs/explanations/training.md)."""

from .engine_sampler import EngineSampler
from .sampler import Sample, Sampler, SampleRequest, SamplerInterrupted, SamplerRefused

__all__ = [
    "EngineSampler",
    "Sample",
    "SampleRequest",
    "Sampler",
    "SamplerInterrupted",
    "SamplerRefused",
]
