"""One conversation, which asks the model by HTTP."""

import json
import os
import sys
import urllib.request

from talk import TOOL, TURNS, NoUserError, ask_user, opening, reward


def ask_model(messages):
    body = json.dumps({"model": os.environ["OPENAI_MODEL"], "messages": messages, "tools": [TOOL]}).encode()
    headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)["choices"][0]["message"]


task = json.load(sys.stdin)
messages = opening(task["seed"])
for turn in range(1, TURNS + 1):
    messages.append(ask_model(messages))
    try:
        words = ask_user(f"{task['seed']} {os.environ['WHET_EPISODE']}", turn)
    except NoUserError as error:
        sys.exit(str(error))
    messages.append({"role": "user", "content": words})
print(json.dumps({"reward": reward(task["seed"])}))
