"""Tier: integration. The table of call forms is what vLLM's own parsers find."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from fixtures.call_forms import FORMS
from fixtures.families import FAMILIES, save_tokenizer
from whetstone.chat.tool_calls import call_arguments
from whetstone.sampling.vllm_command import vllm_python
from whetstone.serve.with_vllm import PARSERS

# gpt-oss is read by a library that fetches its vocabulary from the network.
READ = {"hermes": "qwen3", "llama3": "llama-3.2", "mistral": "mistral", "lfm2": "lfm2"}
SCRIPT = """
import json, sys
from transformers import AutoTokenizer
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.tool_parsers import ToolParserManager
found = []
for directory, name, texts in json.load(sys.stdin):
    tool = {"type": "function", "function": {"name": "pull", "parameters": {"type": "object"}}}
    request = ChatCompletionRequest(model="m", messages=[{"role": "user", "content": "x"}], tools=[tool])
    tokenizer = AutoTokenizer.from_pretrained(directory)
    for text in texts:
        parser = ToolParserManager.get_tool_parser(name)(tokenizer, request.tools)
        calls = parser.extract_tool_calls(text, request).tool_calls
        found.append([[call.function.name, call.function.arguments] for call in calls])
print(json.dumps(found))
"""


def test_every_form_is_read_as_vllm_reads_it(tmp_path: Path) -> None:
    asked = []
    for form, name in READ.items():
        save_tokenizer(FAMILIES[name], tmp_path / name)
        asked.append([str(tmp_path / name), PARSERS[form], [text for _, text, _ in FORMS[form]]])
    command = [vllm_python(dict(os.environ)), "-c", SCRIPT]
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    theirs = iter(json.loads(done.stdout.splitlines()[-1]))
    differing = []
    for form in READ:
        for what, _, expected in FORMS[form]:
            calls = [(name, call_arguments(arguments)) for name, arguments in next(theirs)]
            if calls != expected:
                differing.append((form, what, calls))
    assert differing == []
