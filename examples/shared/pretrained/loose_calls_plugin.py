"""vLLM's parser `loose_calls`: vllm ... --tool-parser-plugin THIS_FILE --tool-call-parser loose_calls"""

import json
import pathlib
import sys

from vllm.tool_parsers.abstract_tool_parser import ToolParserManager
from vllm.tool_parsers.xlam_tool_parser import xLAMToolParser

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from loose_calls import read_calls  # noqa: E402


@ToolParserManager.register_module("loose_calls")
class LooseCallsParser(xLAMToolParser):
    """xLAM's parser of a list of calls, which is asked for when the text consists of calls."""

    def preprocess_model_output(self, model_output: str) -> tuple[str | None, str | None]:
        calls = read_calls(model_output)
        return (None, json.dumps(calls)) if calls else (model_output, None)
