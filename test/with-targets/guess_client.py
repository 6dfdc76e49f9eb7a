"""What OpenEnv's own client records of games with `guess_server.py`. Arguments: the address, and pairs of a seed and
the guesses, as JSON. Prints a line for each game: {"text", "rewards", "done"}."""

import json
import sys

from openenv.core.generic_client import GenericEnvClient

for seed, guesses in json.loads(sys.argv[2]):
    with GenericEnvClient(base_url=sys.argv[1]).sync() as client:
        last = client.reset(seed=seed)
        opening, rewards = last.observation["text"], []
        for guess in guesses:
            if not last.done:
                last = client.step({"number": guess})
                rewards.append(last.reward)
        print(json.dumps({"text": opening, "rewards": rewards, "done": last.done}), flush=True)
