"""A vLLM server for the trainer, over HTTP: one method for each request, and errors that say what to change.

It was written for vLLM 0.32. Tokens are sent as ids in both directions (`/v1/completions` with `return_token_ids`),
which every server supports; `/inference/v1/generate` needs a flag.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass

import httpx2

from whetstone.cut_text import start_of

from .sampler import Sample, SampleRequest, SamplerRefused

LOAD = "/v1/load_lora_adapter"
# Ranks that --max-lora-rank takes.
RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
ADAPTERS = "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True in its environment and --enable-lora"
# Time limit of a completion: a base, and a time for each token that suffices even on a busy server.
ANSWER_SECONDS, TOKEN_SECONDS = 300.0, 1.0
CONNECT_SECONDS = 5.0
# The sudden loss of a machine is noticed after half a minute, however long an answer may take.
KEEP_ALIVE = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 10),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4),
]


class Unreachable(Exception):
    """The server does not answer, or is not ready; asking again may help."""


class Busy(Unreachable):
    """The server, or a proxy in front of it, is overloaded."""


class AdapterMissing(Exception):
    """The server does not have the adapter, because it was restarted."""


@dataclass(frozen=True)
class ServedModel:
    """The base model of a server: its name there, and its longest sequence in tokens."""

    name: str
    length: int


class VllmServer:
    """Requests to the server at `url` (without `/v1`), at most `connections` at once, from any thread.

    `own`: the trainer started it and gave it the key.

    Every method may raise Unreachable or SamplerRefused.
    """

    def __init__(self, url: str, connections: int, key: str | None = None, own: bool = False) -> None:
        self._own = own
        self.url = url.rstrip("/").removesuffix("/v1")
        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
        self._client = httpx2.Client(
            base_url=self.url,
            transport=httpx2.HTTPTransport(limits=limits, socket_options=KEEP_ALIVE),
            timeout=httpx2.Timeout(60.0, connect=CONNECT_SECONDS, pool=None),
            # Proxies in the environment variables cannot reach this machine's own servers.
            trust_env=httpx2.URL(self.url).host not in ("127.0.0.1", "localhost", "::1"),
            headers={"Authorization": f"Bearer {key}"} if key else {},
        )

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    def is_healthy(self) -> bool:
        """True if the server answers that it is ready."""
        try:
            return self._client.get("/health", timeout=CONNECT_SECONDS).status_code == 200
        except httpx2.TransportError:
            return False

    def model(self) -> ServedModel:
        """The base model."""
        for card in self._cards():
            if not card.get("parent"):
                length = card.get("max_model_len")
                if not isinstance(length, int):
                    raise SamplerRefused(
                        f"the sampler at {self.url} does not say how long a sequence may be (max_model_len in"
                        " /v1/models): it is no vLLM, or one before 0.12"
                    )
                return ServedModel(card["id"], length)
        raise SamplerRefused(f"the sampler at {self.url} serves no base model: see its /v1/models")

    def adapters(self) -> list[str]:
        """Names of its loaded adapters."""
        return [card["id"] for card in self._cards() if card.get("parent")]

    def load(self, name: str, directory: str, rank: int) -> None:
        """Loads an adapter of this rank. It does nothing if an adapter of this name is already loaded."""
        answer = self._ask("POST", LOAD, {"lora_name": name, "lora_path": directory})
        words = _words(answer)
        if answer.status_code == 200 or (answer.status_code == 400 and "already been loaded" in words):
            return
        if answer.status_code == 404 and "No adapter found" in words:
            raise SamplerRefused(
                f"the sampler at {self.url} finds no adapter in {directory}: it must see this folder by the same path;"
                " mount the store's volume into its pod as it is mounted into the trainer's"
            )
        if answer.status_code in (404, 405):
            raise SamplerRefused(f"the sampler at {self.url} takes no adapters while it runs: start it with {ADAPTERS}")
        if "max_lora_rank" in words or "LoRA rank" in words:
            fitting = next((one for one in RANKS if one >= rank), rank)
            raise SamplerRefused(
                f"the sampler at {self.url} takes only adapters of a lower rank than this training's, which is {rank}:"
                f" start it with --max-lora-rank {fitting}, or lower training.rank"
            )
        if "LoRA is not enabled" in words or "enable_lora" in words:
            raise SamplerRefused(f"the sampler at {self.url} was started without adapters: start it with {ADAPTERS}")
        if answer.status_code >= 500:
            raise Unreachable(f"HTTP status {answer.status_code}: {words}")
        raise SamplerRefused(f"the sampler at {self.url} could not load an adapter: {words}")

    def unload(self, name: str) -> None:
        """Removes an adapter; does nothing if it is not loaded."""
        self._ask("POST", "/v1/unload_lora_adapter", {"lora_name": name})

    def complete(self, model: str, request: SampleRequest) -> Sample:
        """Samples one completion. Raises AdapterMissing if there is no such model.

        The request's seed is not sent. The rounding depends on the batch anyway, and without a GPU vLLM 0.32 crashes
        with 'CPU Generator does not use offset' when it rewinds the generator of a request with a seed.
        """
        answer = self._ask(
            "POST",
            "/v1/completions",
            {
                "model": model,
                "prompt": request.prompt,
                "max_tokens": request.max_tokens,
                "temperature": request.temperature,
                "stop_token_ids": list(request.stop),
                # The model's generation_config.json must neither end a completion nor change the distribution: the
                # trainer computes plain sampling at this temperature.
                "ignore_eos": True,
                "top_p": 1.0,
                "top_k": 0,
                "min_p": 0.0,
                "repetition_penalty": 1.0,
                "presence_penalty": 0.0,
                "frequency_penalty": 0.0,
                "logprobs": 0,
                "return_token_ids": True,
                "skip_special_tokens": False,
            },
            seconds=ANSWER_SECONDS + TOKEN_SECONDS * request.max_tokens,
        )
        if answer.status_code == 404 and "does not exist" in _words(answer):
            raise AdapterMissing(_words(answer))
        if answer.status_code != 200:
            raise SamplerRefused(f"the sampler at {self.url} refuses a completion: {_words(answer)}")
        return self._read(self._json(answer), request)

    def _read(self, body: dict, request: SampleRequest) -> Sample:
        choice = body["choices"][0]
        tokens, seen = choice.get("token_ids"), choice.get("prompt_token_ids")
        values = (choice.get("logprobs") or {}).get("token_logprobs")
        if not tokens or seen is None:
            raise SamplerRefused(
                f"the sampler at {self.url} answers no token ids (return_token_ids): it is no vLLM, or one before 0.12"
            )
        if values is None or len(values) != len(tokens):
            raise SamplerRefused(
                f"the sampler at {self.url} answers {0 if values is None else len(values)} log-probabilities for"
                f" {len(tokens)} tokens: start it with --max-logprobs 1 or more, without speculative decoding"
            )
        if seen != request.prompt:
            raise SamplerRefused(
                f"the sampler at {self.url} read {len(seen)} prompt tokens that are not the {len(request.prompt)} that"
                " it was asked with"
            )
        if choice.get("finish_reason") not in ("stop", "length"):
            raise SamplerRefused(f"the sampler at {self.url} ended a completion with {choice.get('finish_reason')!r}")
        return Sample(tokens, values, choice["finish_reason"])

    def _json(self, answer: httpx2.Response) -> dict:
        try:
            return answer.json()
        except ValueError:
            raise SamplerRefused(
                f"{self.url} answers with something that is not JSON: {_words(answer)}; training.samplerUrl must be the"
                " address of a vLLM server"
            ) from None

    def _cards(self) -> list[dict]:
        answer = self._ask("GET", "/v1/models")
        if answer.status_code != 200:
            raise SamplerRefused(
                f"there is no OpenAI API at {self.url}: /v1/models answers {answer.status_code} ({_words(answer)});"
                " training.samplerUrl must be the address of a vLLM server"
            )
        return self._json(answer)["data"]

    def _ask(self, method: str, path: str, body: dict | None = None, seconds: float = 60.0) -> httpx2.Response:
        timeout = httpx2.Timeout(seconds, connect=CONNECT_SECONDS, pool=None)
        try:
            answer = self._client.request(method, path, json=body, timeout=timeout)
        except httpx2.TransportError as error:
            raise Unreachable(f"{type(error).__name__}: {error}".rstrip(": ")) from error
        if answer.status_code in (401, 403):
            if self._own:
                # Another server has the port. The trainer's own server then ends, and its supervisor restarts it.
                raise Unreachable(f"another server listens at {self.url} and refuses the trainer's key")
            raise SamplerRefused(
                f"the sampler at {self.url} wants an API key: name a file that holds it in WHET_SAMPLER_AUTH_FILE, in"
                " the trainer's environment"
            )
        if answer.status_code in (408, 429, 502, 503, 504):
            raise Busy(f"HTTP status {answer.status_code}: {_words(answer)}")
        # `load` reads its errors itself, because they say which flag is missing.
        if answer.status_code >= 500 and path != LOAD:
            # A server whose engine has died also answers like this before it ends.
            raise Unreachable(f"HTTP status {answer.status_code}: {_words(answer)}")
        return answer


def _words(answer: httpx2.Response) -> str:
    """The server's message about an error, in one line of at most 500 characters."""
    try:
        error = answer.json().get("error", answer.text)
        words = error.get("message", "") if isinstance(error, dict) else str(error)
    except (ValueError, AttributeError):
        words = answer.text
    return start_of(" ".join(str(words).split()), 500)
