"""The adapter from whose weights a training begins, if its job names one (docs/adr/0017)."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from peft import PeftConfig, PeftModel, get_peft_model_state_dict, set_peft_model_state_dict
from safetensors import SafetensorError
from safetensors.torch import load_file

from whetstone.tree_hash import tree_sha256

from ..job import ServedAdapter

FILE = "beginning.json"
WEIGHTS = "adapter_model.safetensors"
# Fields that must be equal in both configurations: otherwise the same weights give another policy.
SHAPE = {"r": "rank", "lora_alpha": "alpha", "use_rslora": "use_rslora", "use_dora": "use_dora"}


class WarmStart:
    """The start of a training: the adapter that its job names, or zero.

    If the adapter cannot be used, the training does not end: it begins from zero, as without `beginsFrom`, and the
    manifest says why. The start is part of each checkpoint, so that a resumed training still knows it.
    """

    def __init__(self, named: ServedAdapter | None) -> None:
        self._named = named
        self.why_from_zero: str | None = None
        """Why the adapter that the job names was not used, as a sentence; None where it was, or where there is none."""

    def put_into(self, model: PeftModel) -> None:
        """Gives a new adapter the weights of the adapter that the job names.

        Without a usable one it stays unchanged.
        """
        if self._named is None:
            return
        try:
            weights = _read(self._named, model)
        except _Unusable as error:
            name, version = self._named.name, self._named.version
            self.why_from_zero = f"{name} of version {version} could not be used: {error}."
            return
        set_peft_model_state_dict(model, weights)

    def save(self, checkpoint: Path) -> None:
        """Writes the start of the training into a checkpoint's directory; nothing if its job names no adapter."""
        if self._named is not None:
            (checkpoint / FILE).write_text(json.dumps({"whyFromZero": self.why_from_zero}) + "\n")

    def load(self, checkpoint: Path) -> None:
        """Reads what `save` wrote."""
        if self._named is not None:
            self.why_from_zero = json.loads((checkpoint / FILE).read_text())["whyFromZero"]

    @property
    def in_manifest(self) -> dict:
        """Its fields in the manifest: none if the job names no adapter."""
        named = self._named
        if named is None:
            return {}
        if self.why_from_zero is not None:
            return {"whyFromZero": self.why_from_zero}
        return {"beginsFrom": {"name": named.name, "version": named.version, "key": named.key, "sha256": named.sha256}}


class _Unusable(Exception):
    """A training cannot begin from this adapter. The message says why, after a colon."""


def _read(named: ServedAdapter, model: PeftModel) -> dict[str, torch.Tensor]:
    """The adapter's weights. Raises _Unusable unless they match the hash, are finite, and have the model's shape."""
    directory = Path(named.path)
    try:
        found = tree_sha256(directory) if (directory / WEIGHTS).is_file() else None
        if found is None:
            raise _Unusable("its files are gone")
        if found != named.sha256:
            raise _Unusable(f"its files have sha256 {found[:12]}, and the job names {named.sha256[:12]}")
        config = PeftConfig.from_pretrained(str(directory)).to_dict()
        weights = load_file(directory / WEIGHTS)
    except (OSError, ValueError, TypeError, KeyError, SafetensorError) as error:
        raise _Unusable(f"its files cannot be read, {error!r}") from None
    own = model.peft_config["default"].to_dict()
    for name, words in SHAPE.items():
        if config.get(name) != own.get(name):
            raise _Unusable(f"its {words} is {config.get(name)}, and that of the training is {own.get(name)}")
    wanted = {name: tuple(weight.shape) for name, weight in get_peft_model_state_dict(model).items()}
    if {name: tuple(weight.shape) for name, weight in weights.items()} != wanted:
        raise _Unusable("it adapts other layers than the training does")
    if not all(bool(torch.isfinite(weight).all()) for weight in weights.values()):
        raise _Unusable("it holds numbers that are not finite")
    return weights
