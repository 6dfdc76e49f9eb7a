"""Whetstone's Python side: inference engine, policy server, environment client and GRPO trainer."""

__version__ = "0.1.0"
