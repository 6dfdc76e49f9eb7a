"""GRPO trainer of LoRA adapters: `python -m whetstone.train --job job.json [--job other.json ...]`.

`job` reads the job file, `output` writes the output directory, and `loss` and `loop` train one adapter. `trial` tests
the needs of a training, and `multi` trains several adapters at once over one base model. Each package imports only the
packages named before it.
"""
