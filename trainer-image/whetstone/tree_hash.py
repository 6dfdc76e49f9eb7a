"""The hash that names a model or an adapter."""

from __future__ import annotations

import hashlib
from pathlib import Path

MODEL_FILES = (".json", ".safetensors", ".jinja", ".txt", ".model")


def tree_sha256(directory: Path) -> str:
    """Hash of a model's or an adapter's directory, equal to the worker's (store/model-hash.ts).

    It is the sha256, as hex, of one line `name NUL sha256-hex LF` for each file, in the order of the names. Only files
    with certain suffixes count: configuration, tokenizer and weights.
    """
    total = hashlib.sha256()
    for path in sorted(directory.rglob("*"), key=lambda p: p.relative_to(directory).as_posix()):
        if path.is_file() and path.suffix in MODEL_FILES:
            # It reads pieces, because a weights file may be larger than the memory.
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            total.update(f"{path.relative_to(directory).as_posix()}\0{digest}\n".encode())
    return total.hexdigest()
