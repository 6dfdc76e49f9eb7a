"""Tier: integration. The command line with which `whet up` starts vLLM, with a program in vLLM's place."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fixtures.tiny_model import make_model
from fixtures.trainer import ENVIRONMENT
from whetstone.chat.dialects import MARKS
from whetstone.serve.with_vllm import PARSERS, calls_parser, policy_command, reading_notes


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("model"), kv_heads=1, tied=True)


def command_of(model: Path, *further: str) -> list[str]:
    argv = ["--model", str(model), "--served-name", "desk", "--port", "8300", "--rank", "8", *further]
    return policy_command(argv, {"WHET_VLLM_PYTHON": sys.executable}, False)[0]


def after(command: list[str], flag: str) -> str:
    return command[command.index(flag) + 1]


def test_the_command_has_name_port_rank_and_the_parser_of_the_models_calls(model: Path) -> None:
    command = command_of(model)
    assert command[:3] == [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
    assert (after(command, "--host"), after(command, "--port")) == ("127.0.0.1", "8300")
    assert (after(command, "--served-model-name"), after(command, "--max-lora-rank")) == ("desk", "8")
    assert after(command, "--tool-call-parser") == "hermes" and "--enable-auto-tool-choice" in command
    assert "--reasoning-parser" not in command


def test_what_agent_yaml_says_is_passed_on_and_its_further_arguments_come_last(model: Path) -> None:
    told = ["--length", "512", "--tool-call-parser", "llama3_json", "--reasoning-parser", "qwen3", "--adapters", "2"]
    command = command_of(model, *told, "--", "--tensor-parallel-size", "2")
    assert (after(command, "--max-model-len"), after(command, "--max-loras")) == ("512", "2")
    assert (after(command, "--tool-call-parser"), after(command, "--reasoning-parser")) == ("llama3_json", "qwen3")
    assert command[-2:] == ["--tensor-parallel-size", "2"]


def test_every_family_whose_calls_the_trainer_reads_has_a_parser() -> None:
    assert set(PARSERS) == {name for name, _ in MARKS} | {"own"}


def test_a_model_that_writes_no_calls_gets_no_parser(model: Path, tmp_path: Path) -> None:
    for name in ("tokenizer.json", "config.json"):
        (tmp_path / name).write_bytes((model / name).read_bytes())
    template = "{% for m in messages %}{{ m.content }}{% endfor %}"
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": template}))
    assert calls_parser(tmp_path) is None
    assert "--enable-auto-tool-choice" not in command_of(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text("{}")
    with pytest.raises(ValueError, match=r"no chat template.*model\.vllm\.toolCallParser"):
        calls_parser(tmp_path)


@pytest.mark.parametrize(
    ("template", "told", "words"),
    [
        ("<tool_call>", [], []),
        ("<tool_call>", ["--tool-call-parser", "hermes"], []),
        ("<tool_call>", ["--tool-call-parser", "xlam"], ["as the parser hermes does, .* reads them with xlam"]),
        ("<tool_call> <think>", [], ["model.vllm.reasoningParser"]),
        ("<tool_call> <think>", ["--reasoning-parser", "qwen3"], []),
        ("<function=", [], ["not well-formed otherwise than the parser qwen3_coder"]),
        ("to=functions.", [], []),
        ("plain", [], []),
    ],
)
def test_what_the_server_reads_otherwise_than_the_trainer_is_named(
    template: str, told: list[str], words: list[str], model: Path, tmp_path: Path
) -> None:
    (tmp_path / "tokenizer.json").write_bytes((model / "tokenizer.json").read_bytes())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": template}))
    argv = ["--model", str(tmp_path), "--served-name", "desk", "--port", "8300", "--rank", "8", *told]
    notes = reading_notes(argv)
    assert len(notes) == len(words) and all(map(re.search, words, notes))


def test_it_becomes_the_server(model: Path, tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text('#!/bin/sh\necho "$VLLM_ALLOW_RUNTIME_LORA_UPDATING $PYTHONPATH $*"\n')
    program.chmod(0o755)
    words = ["--model", str(model), "--served-name", "desk", "--port", "8300", "--rank", "8"]
    done = run(words, {"WHET_VLLM_PYTHON": str(program)})
    assert done.returncode == 0 and done.stdout.startswith("True  -m vllm.entrypoints.openai.api_server --host")
    # Its log says how to start the same by hand.
    assert f"vLLM: {program} -m vllm.entrypoints.openai.api_server" in done.stderr


def test_a_directory_without_a_model_and_a_missing_vllm_are_sentences(model: Path, tmp_path: Path) -> None:
    rest = ["--served-name", "desk", "--port", "8300", "--rank", "8"]
    done = run(["--model", str(tmp_path), *rest], {"WHET_VLLM_PYTHON": sys.executable})
    assert done.returncode == 2 and "is not a model directory (no config.json)" in done.stderr
    done = run(["--model", str(model), *rest], {"WHET_VLLM_PYTHON": "/nowhere"})
    assert done.returncode == 2 and done.stderr.startswith("Error: WHET_VLLM_PYTHON is /nowhere")


def run(words: list[str], variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": ENVIRONMENT["PYTHONPATH"], **variables}
    command = [sys.executable, "-m", "whetstone.serve.with_vllm", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_command_in_the_guide_is_the_one_that_whet_up_runs(tmp_path: Path) -> None:
    guide = (Path(__file__).resolve().parents[3] / "docs/guides/vllm.md").read_text()
    shown = guide[guide.index("vllm serve /models/Qwen3-4B") :].split("\n\n")[0].replace("\\\n", " ").split()
    (tmp_path / "config.json").write_text("{}")
    argv = ["--model", str(tmp_path), "--served-name", "qwen3-4b", "--port", "8000", "--rank", "32"]
    argv += ["--length", "16384", "--tool-call-parser", "hermes", "--reasoning-parser", "qwen3"]
    command, _ = policy_command(argv, {"WHET_VLLM_PYTHON": sys.executable}, True)
    ours = command[command.index("--port") + 2 :]
    # What whet adds for a server of its own: less in the log, and its share of the GPU.
    own = ["--model", str(tmp_path), "--no-enable-log-requests", "--gpu-memory-utilization", "0.9"]
    assert sorted(shown[3:]) == sorted(word for word in ours if word not in own)
