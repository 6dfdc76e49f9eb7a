"""`python -m whetstone.serve.with_vllm`: replaces itself with a vLLM that serves the policy, with the flags that
Whetstone needs.

`whet up` starts it for `model.server: vllm`. An invalid model, a taken port and a missing vLLM give exit code 2 and a
sentence.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import NoReturn

from whetstone.sampling.vllm_command import (
    ServerNeeds,
    VllmMissing,
    server_arguments,
    server_command,
    server_environment,
    vllm_python,
)

# vLLM's parsers of tool calls for the families of whetstone.chat.dialects. 'own': the tokenizer describes its calls.
PARSERS = {
    "hermes": "hermes",
    "llama3": "llama3_json",
    "mistral": "mistral",
    "gpt-oss": "openai",
    "qwen3.5": "qwen3_coder",
    "glm": "glm45",
    "lfm2": "lfm2",
    "gemma4": "gemma4",
    "own": "hf",
}
# Devices of NVIDIA's and AMD's drivers.
GPU_DEVICES = ("/dev/nvidiactl", "/dev/kfd")
# Number of adapters in memory for each adapter that a batch may use: an active version, the previous one, and a canary.
LOADED = 4


def policy_command(argv: list[str], environment: dict[str, str], gpu: bool) -> tuple[list[str], dict[str, str]]:
    """The command and the environment of the server. Raises VllmMissing, ValueError, and SystemExit for a bad flag."""
    asked, further = _asked(argv)
    if not (asked.model / "config.json").exists():
        raise ValueError(f"{asked.model} is not a model directory (no config.json); save one with save_pretrained")
    needs = ServerNeeds(
        str(asked.model), asked.rank, asked.adapters, LOADED * asked.adapters, asked.length, gpu, asked.gpu_share
    )
    command = server_command(vllm_python(environment), asked.port) + server_arguments(needs)
    command += ["--served-model-name", asked.served_name]
    calls = asked.tool_call_parser or calls_parser(asked.model)
    if calls is not None:
        command += ["--enable-auto-tool-choice", "--tool-call-parser", calls]
    if asked.reasoning_parser:
        command += ["--reasoning-parser", asked.reasoning_parser]
    return command + further, server_environment(environment, gpu)


def _asked(argv: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """The flags, and the arguments behind `--`, which go to vLLM as they are."""
    parser = argparse.ArgumentParser(prog="python -m whetstone.serve.with_vllm", description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="directory of the base model")
    parser.add_argument("--served-name", required=True, help="its name at the server")
    parser.add_argument("--port", type=int, required=True, help="on the loopback interface")
    parser.add_argument("--rank", type=int, required=True, help="largest rank of an adapter")
    parser.add_argument("--adapters", type=int, default=4, help="adapters that one batch may mix")
    parser.add_argument("--length", type=int, help="tokens of prompt and completion; default: the model's own")
    parser.add_argument("--tool-call-parser", help="default: the one for the model's chat template")
    parser.add_argument("--reasoning-parser", help="default: none")
    parser.add_argument("--gpu-share", type=float, default=0.9, help="share of the GPU's memory")
    own, further = argv, []
    if "--" in argv:
        own, further = argv[: argv.index("--")], argv[argv.index("--") + 1 :]
    return parser.parse_args(own), further


def reading_notes(argv: list[str]) -> list[str]:
    """Sentences on replies that this server reads otherwise than the trainer, which reads tokens itself.

    There are none where both read every reply alike (whetstone/chat/tool_calls.py).
    """
    from whetstone.chat import Chat
    from whetstone.chat.dialects import THINK_OPEN, family_of
    from whetstone.chat.tool_calls import reader_of
    from whetstone.engine import ModelError

    asked, _ = _asked(argv)
    try:
        chat = Chat(asked.model)
    except ModelError:
        return []
    family = "own" if chat.response_template else family_of(chat.source)
    notes, fits = [], None if family is None else PARSERS[family]
    if asked.tool_call_parser not in (None, fits):
        notes.append(
            f"the trainer reads calls as the parser {fits} does, and this server reads them with"
            f" {asked.tool_call_parser}: leave model.vllm.toolCallParser out, or calls may differ"
        )
    elif family not in (None, "gpt-oss") and reader_of(family, chat.source) is None:
        notes.append(f"the trainer may read calls that are not well-formed otherwise than the parser {fits}")
    if THINK_OPEN in chat.source and not asked.reasoning_parser:
        notes.append(
            "the model may write its reasoning, which is text of its answers here and which the trainer leaves out:"
            " name the parser of its family in model.vllm.reasoningParser"
        )
    return notes


def calls_parser(model: Path) -> str | None:
    """vLLM's parser for the tool calls of the model's chat template; None: it writes none.

    Raises ValueError if there is no template.
    """
    from whetstone.chat import Chat
    from whetstone.chat.dialects import family_of
    from whetstone.engine import ModelError

    try:
        chat = Chat(model)
    except ModelError as error:
        raise ValueError(f"{error}. Or name the parser of its tool calls in model.vllm.toolCallParser") from None
    family = "own" if chat.response_template else family_of(chat.source)
    return None if family is None else PARSERS[family]


def main() -> NoReturn:
    """Replaces this process with the server."""
    gpu = any(Path(device).exists() for device in GPU_DEVICES)
    try:
        command, variables = policy_command(sys.argv[1:], dict(os.environ), gpu)
    except (VllmMissing, ValueError) as error:
        print(f"Error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    for note in reading_notes(sys.argv[1:]):
        print(f"Note: {note}", file=sys.stderr)
    print("vLLM:", " ".join(command), file=sys.stderr, flush=True)
    os.execve(command[0], command, variables)


if __name__ == "__main__":
    main()
