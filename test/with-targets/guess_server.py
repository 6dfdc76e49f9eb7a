"""An OpenEnv server: guess the number that follows from the seed. Argument: the port."""

import random
import sys

import uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_app


class Guess(Action):
    number: int


class Answer(Observation):
    text: str = ""


class Guessing(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def reset(self, seed=None, episode_id=None, **_):
        self.number, self.tries = random.Random(seed).randrange(10), 0
        return Answer(text="Guess my number, 0 to 9.")

    def step(self, action, **_):
        self.tries += 1
        if action.number == 99:
            raise ValueError("out of order")
        right = action.number == self.number
        text = "Right." if right else "Larger." if action.number < self.number else "Smaller."
        return Answer(text=text, reward=1.0 if right else 0.0, done=right or self.tries == 5)

    @property
    def state(self):
        return State(step_count=self.tries)


uvicorn.run(
    create_app(Guessing, Guess, Answer, env_name="guess", max_concurrent_envs=64),
    host="127.0.0.1",
    port=int(sys.argv[1]),
    log_level="warning",
)
