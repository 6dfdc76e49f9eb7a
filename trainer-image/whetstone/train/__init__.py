"""GRPO trainer of one LoRA adapter: `python -m whetstone.train --job job.json`."""
