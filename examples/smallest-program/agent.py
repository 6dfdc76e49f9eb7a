"""May a parcel be returned? Plays one task: asks the model, runs the tool that it calls, prints how well it did."""

import json
import os
import random
import sys
import urllib.request

PARCEL = {"type": "object", "properties": {"parcel": {"type": "string"}}, "required": ["parcel"]}
LOOK_UP = {"name": "look_up", "description": "The age of a parcel in days.", "parameters": PARCEL}


def ask(messages):
    tools = [{"type": "function", "function": LOOK_UP}]
    body = json.dumps({"model": os.environ["OPENAI_MODEL"], "messages": messages, "tools": tools}).encode()
    headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)["choices"][0]["message"]


task = json.load(sys.stdin)  # {"task_id": an id of tasks.jsonl, "seed": ..., "max_turns": ..., and more}
parcel, looked_up = task["task_id"], False
days = random.Random(parcel).randrange(1, 60)  # the same each time; a task's own data would lie in a file here
rule = "Parcels of up to 30 days may be returned. Look the parcel up, then answer yes or no."
messages = [{"role": "system", "content": rule}, {"role": "user", "content": f"May I return {parcel}?"}]
for _ in range(task["max_turns"]):
    answer = ask(messages)
    messages.append(answer)
    for call in answer.get("tool_calls") or []:
        known = call["function"]["name"] == "look_up" and f'"{parcel}"' in call["function"]["arguments"]
        looked_up = looked_up or known
        observation = f"{days} days" if known else "There is no such parcel."
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": observation})
    if not answer.get("tool_calls"):
        break
said = (answer.get("content") or "").strip().lower()
print(json.dumps({"reward": 1.0 if looked_up and said.startswith("yes" if days <= 30 else "no") else 0.0}))
