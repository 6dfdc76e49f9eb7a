"""Text of a small model's training corpus (docs/reference/protocols.md, section 4), and the tokenizer."""

import json
import random
import re

from routing_questions import routing_example
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast
from world import World

PAD, END = "<|pad|>", "<|im_end|>"
CALL, CALL_END = "<tool_call>", "</tool_call>"
USER = "<|im_start|>user\n"
NEXT_USER = "\n<|im_start|>user\n"
TOOL = "\n<|im_start|>tool\n"
ASSISTANT = "\n<|im_start|>assistant\n"
CONTROL = [PAD, END, USER, NEXT_USER, TOOL, ASSISTANT]

# The system message and the tools are not rendered: a model of a million parameters is tuned to one agent.
CHAT_TEMPLATE = (
    "{%- set state = namespace(first=true) -%}"
    "{%- for message in messages if message.role != 'system' -%}"
    "{%- if not state.first -%}{{- '\n' -}}{%- endif -%}{%- set state.first = false -%}"
    "{{- '<|im_start|>' + message.role + '\n' -}}"
    "{%- if message.tool_calls -%}"
    "{%- for call in message.tool_calls -%}"
    "{%- set arguments = call.function.arguments -%}"
    '{{- \'<tool_call>{"name":"\' + call.function.name + \'","arguments":\' -}}'
    "{{- (arguments if arguments is string else arguments | tojson(separators=(',', ':'))) + '}</tool_call>' -}}"
    "{%- endfor -%}"
    "{%- else -%}{{- message.content or '' -}}{%- endif -%}"
    "{{- '<|im_end|>' -}}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- '\n<|im_start|>assistant\n' -}}{%- endif -%}"
)

Segments = list[tuple[str, bool]]  # (text, is it the model's own)


def render_call(call: dict) -> str:
    """One tool call as the model writes it, without the end-of-turn token."""
    body = {"name": call["name"], "arguments": call["arguments"]}
    return CALL + json.dumps(body, separators=(",", ":")) + CALL_END


def demonstration(world: World, seed: int) -> Segments:
    """The transcript of the expert's episode on one demonstration seed, with its planted deficits.

    Raises ValueError where the expert's steps end before the episode does, or after it.
    """
    return demonstration_of(world, seed, world.expert.DEFICITS)


def demonstration_of(world: World, seed: int, shares: dict[str, float]) -> Segments:
    """As `demonstration`, of an expert that shows habits in these shares."""
    episode = world.environment.Environment()
    opening = episode.reset(seed)
    segments: Segments = [(USER + opening[-1]["content"] + END + ASSISTANT, False)]
    done = False
    for step in world.expert.demonstration(seed, shares):
        if done:
            raise ValueError(f"seed {seed}: the expert has steps left when the episode has ended: {step}")
        if "text" in step:
            own, next_turn, answer = step["text"], NEXT_USER, episode.say(step["text"])
        else:
            own, next_turn, answer = render_call(step), TOOL, episode.step(step)
        segments.append((own + END, True))
        done = answer["done"]
        if not done:
            segments.append((next_turn + answer["observation"] + END + ASSISTANT, False))
    if not done:
        raise ValueError(f"seed {seed}: the episode goes on after the expert's last step")
    return segments


def routing(world: World, seed: int, summaries: dict[str, str]) -> Segments:
    """A routing question about the first message of one demonstration seed, with its answer."""
    message = world.environment.Environment().reset(seed)[-1]["content"]
    needs = world.environment.Environment.generate_task(seed).get("tags", [])
    question, answer = routing_example(message, needs, summaries, random.Random(f"routing:{seed}"))
    return [(USER + question + END + ASSISTANT, False), (answer + END, True)]


def build_tokenizer(texts: list[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """Trains the BPE tokenizer.

    Digit pairs, capitalised words and words after a space stand alone, so that values never merge with the JSON around
    them; the JSON skeleton of a call, having no spaces, merges into a token or two.
    """
    tokenizer = Tokenizer(models.BPE())
    alone = Regex(r"[0-9]{2}|[0-9]|[A-Z][a-z]*| ?[a-z]+ | [a-z]+|\n")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(alone, "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - 2,
        special_tokens=CONTROL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        max_token_length=60,
        show_progress=False,
    )
    markers = re.compile("|".join(re.escape(m) for m in (*CONTROL, CALL, CALL_END)))
    pieces = [piece for text in texts for piece in markers.split(text) if piece]
    # Every pair must be one token, the rare ones as well, or copying a number would take a different path for each.
    pieces += [f"{pair:02d}" for pair in range(100)] * 100
    tokenizer.train_from_iterator(pieces, trainer)
    # Not "special", so that decoding for a client keeps the markers of a tool call.
    tokenizer.add_tokens(
        [AddedToken(CALL, normalized=False, special=False), AddedToken(CALL_END, normalized=False, special=False)]
    )
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=END,
        padding_side="left",
        clean_up_tokenization_spaces=False,
        model_max_length=1024,
    )
    wrapped.chat_template = CHAT_TEMPLATE
    return wrapped


def encode(tokenizer: PreTrainedTokenizerFast, transcripts: list[Segments]) -> list[tuple[list[int], list[bool]]]:
    """Token ids of each transcript and, for each token, whether the model is trained to say it."""
    flat = [text for transcript in transcripts for text, _ in transcript]
    pieces = iter(tokenizer.backend_tokenizer.encode_batch(flat, add_special_tokens=False))
    encoded = []
    for transcript in transcripts:
        ids: list[int] = []
        own: list[bool] = []
        for _, is_own in transcript:
            piece = next(pieces).ids
            ids += piece
            own += [is_own] * len(piece)
        encoded.append((ids, own))
    return encoded
