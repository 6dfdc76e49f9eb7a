"""Supervised training of a small Llama from scratch on a CPU, in fp32 and without padding work.

The forward pass is written out on stacked weights: on two cores a generic implementation spends half of a small model's
step outside the matrix products. The weights are Llama's, and `export` hands them to `LlamaForCausalLM`.
Not covered: grouped-query attention, dropout, attention over more than one document in a row.
"""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from transformers import LlamaConfig, LlamaForCausalLM


@dataclass(frozen=True)
class Shape:
    """Size of the model: hidden width, layers, heads, width of the gated feed-forward part."""

    hidden: int = 128
    layers: int = 4
    heads: int = 4
    inner: int = 384

    def __post_init__(self) -> None:
        if self.hidden % self.heads or (self.hidden // self.heads) % 2:
            raise ValueError(f"hidden={self.hidden} must split into {self.heads} heads of even width")


@dataclass(frozen=True)
class Schedule:
    """Training schedule: steps, transcripts per step, peak learning rates, warmup, share of the steps that settle.

    Batches of like length save the padding, and Muon's steps of constant length save half of the steps. Together they
    leave two behaviours that are demonstrated in some proportion beside that proportion (measured: 0.19 where it is
    0.39). In the last `settle` of the steps Adam, on batches drawn at random, brings them there (measured: 0.41).
    """

    steps: int
    batch: int
    adam_lr: float = 1e-2
    muon_lr: float = 5e-3
    settle_lr: float = 5e-4
    settle: float = 0.12
    warmup: int = 40
    floor: float = 0.02

    def scale(self, step: int) -> float:
        """Factor on the learning rates at a step: linear warmup, then linear decay to the floor."""
        return min(1.0, (step + 1) / self.warmup) * max(self.floor, 1 - step / self.steps)

    def settles(self, step: int) -> bool:
        """Whether a step belongs to the settling ones at the end."""
        return step >= self.steps * (1 - self.settle)


class Llama(torch.nn.Module):
    """Llama with tied embeddings; weights of all layers stacked along the first axis."""

    def __init__(self, shape: Shape, vocabulary: int, theta: float = 10_000.0):
        super().__init__()
        self.shape, self.theta = shape, theta
        layers, hidden, inner = shape.layers, shape.hidden, shape.inner

        def normal(*size: int) -> torch.nn.Parameter:
            return torch.nn.Parameter(torch.randn(*size) * 0.02)

        # Unit-variance embeddings with a small last norm: values are copied through the residual stream, and tiny
        # embeddings drown in what the layers add. A quarter of the steps then reach the loss that 0.02 needs.
        self.embedding = torch.nn.Parameter(torch.randn(vocabulary, hidden))
        self.qkv = normal(layers, 3, hidden, hidden)
        self.out = torch.nn.Parameter(torch.zeros(layers, hidden, hidden))
        self.gate_up = normal(layers, 2, inner, hidden)
        self.down = torch.nn.Parameter(torch.zeros(layers, hidden, inner))
        self.norms = torch.nn.Parameter(torch.ones(2 * layers + 1, hidden))
        self.norms.data[-1] = hidden**-0.5

    def forward(self, ids: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """Logits [len(rows), vocabulary] at flat positions `rows` of right-padded ids [batch, time]."""
        shape, (batch, time) = self.shape, ids.shape
        width = shape.hidden // shape.heads
        inverse = 1.0 / self.theta ** (torch.arange(0, width, 2).float() / width)
        angle = torch.outer(torch.arange(time).float(), inverse)
        cos, sin = angle.cos(), angle.sin()
        # Not `embedding[ids]`: its gradient is summed by threads in any order, and the same seed gives another model
        # every time.
        x = F.embedding(ids.reshape(-1), self.embedding)
        for layer in range(shape.layers):
            h = F.rms_norm(x, (shape.hidden,), self.norms[2 * layer], 1e-6)
            qkv = F.linear(h, self.qkv[layer].view(3 * shape.hidden, shape.hidden))
            q, k, v = qkv.view(batch, time, 3, shape.heads, width).permute(2, 0, 3, 1, 4)
            q, k = _rotate(q, cos, sin), _rotate(k, cos, sin)
            # Padding is on the right, so the causal mask alone keeps it out of every real position.
            a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + F.linear(a.transpose(1, 2).reshape(batch * time, shape.hidden), self.out[layer])
            h = F.rms_norm(x, (shape.hidden,), self.norms[2 * layer + 1], 1e-6)
            gate, up = F.linear(h, self.gate_up[layer].view(2 * shape.inner, shape.hidden)).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, self.down[layer])
        h = F.rms_norm(x[rows], (shape.hidden,), self.norms[-1], 1e-6)
        return F.linear(h, self.embedding)

    def export(self, pad: int, end: int) -> LlamaForCausalLM:
        """The same model as a transformers Llama."""
        shape = self.shape
        config = LlamaConfig(
            vocab_size=self.embedding.shape[0],
            hidden_size=shape.hidden,
            intermediate_size=shape.inner,
            num_hidden_layers=shape.layers,
            num_attention_heads=shape.heads,
            num_key_value_heads=shape.heads,
            max_position_embeddings=1024,
            rope_parameters={"rope_type": "default", "rope_theta": self.theta},
            tie_word_embeddings=True,
            pad_token_id=pad,
            bos_token_id=None,
            eos_token_id=end,
        )
        model = LlamaForCausalLM(config)
        weights = {"model.embed_tokens.weight": self.embedding, "model.norm.weight": self.norms[-1]}
        for layer in range(shape.layers):
            at = f"model.layers.{layer}."
            for index, name in enumerate(("q", "k", "v")):
                weights[f"{at}self_attn.{name}_proj.weight"] = self.qkv[layer, index]
            weights[f"{at}self_attn.o_proj.weight"] = self.out[layer]
            weights[f"{at}mlp.gate_proj.weight"] = self.gate_up[layer, 0]
            weights[f"{at}mlp.up_proj.weight"] = self.gate_up[layer, 1]
            weights[f"{at}mlp.down_proj.weight"] = self.down[layer]
            weights[f"{at}input_layernorm.weight"] = self.norms[2 * layer]
            weights[f"{at}post_attention_layernorm.weight"] = self.norms[2 * layer + 1]
        weights = {name: value.detach().clone() for name, value in weights.items()}
        weights["lm_head.weight"] = weights["model.embed_tokens.weight"]
        model.load_state_dict(weights)
        model.generation_config.eos_token_id = end
        model.generation_config.pad_token_id = pad
        return model


def _rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotary position embedding in Llama's half-split layout; x is [batch, heads, time, width]."""
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class Muon:
    """Muon (momentum, orthogonalised by Newton-Schulz) in fp32 on stacks of matrices [count, rows, columns].

    torch.optim.Muon goes matrix by matrix in bf16, which is several times slower on a CPU without bf16 units.
    """

    def __init__(self, groups: list[list[torch.nn.Parameter]], momentum: float = 0.95, rounds: int = 4):
        self.groups, self.momentum, self.rounds = groups, momentum, rounds
        self.buffers: list[torch.Tensor | None] = [None] * len(groups)

    @staticmethod
    def _wide(matrices: torch.Tensor) -> torch.Tensor:
        matrices = matrices.reshape(-1, *matrices.shape[-2:])
        return matrices.mT if matrices.shape[1] > matrices.shape[2] else matrices

    @torch.no_grad()
    def step(self, lr: float) -> None:
        """Updates every matrix from its gradient; rms of the update is about 0.2 * lr * sqrt(larger side)."""
        for index, group in enumerate(self.groups):
            gradient = torch.cat([self._wide(p.grad) for p in group])
            buffer = self.buffers[index]
            if buffer is None:
                buffer = self.buffers[index] = torch.zeros_like(gradient)
            buffer.lerp_(gradient, 1 - self.momentum)
            x = gradient.lerp(buffer, self.momentum)
            x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
            for _ in range(self.rounds):
                a = x @ x.mT
                x = torch.baddbmm(x, torch.baddbmm(a, a, a, beta=-4.7750, alpha=2.0315), x, beta=3.4445)
            scale = -lr * 0.2 * math.sqrt(max(x.shape[1:]))
            start = 0
            for p in group:
                view = self._wide(p)
                view.add_(x[start : start + len(view)], alpha=scale)
                start += len(view)


def batches(
    examples: list[tuple[list[int], list[bool]]], size: int, sorted_together: int, rng: random.Random
) -> Iterator:
    """Batches of `size` transcripts: (ids [size, time], rows, targets).

    Within every `sorted_together` batches the transcripts are sorted by length: 16 leave about 3 % padding, 1 is a
    random draw.
    """
    window = sorted_together * size
    order = list(range(len(examples)))
    rng.shuffle(order)
    while True:
        for start in range(0, len(order) - window + 1, window):
            pool = sorted(order[start : start + window], key=lambda i: len(examples[i][0]))
            chunks = [pool[i : i + size] for i in range(0, window, size)]
            rng.shuffle(chunks)
            for chunk in chunks:
                time = max(len(examples[i][0]) for i in chunk) - 1
                ids = torch.zeros(len(chunk), time, dtype=torch.long)
                rows, targets = [], []
                for row, i in enumerate(chunk):
                    tokens, own = examples[i]
                    ids[row, : len(tokens) - 1] = torch.tensor(tokens[:-1])
                    for position in range(1, len(tokens)):
                        if own[position]:
                            rows.append(row * time + position - 1)
                            targets.append(tokens[position])
                yield ids, torch.tensor(rows), torch.tensor(targets)
        rng.shuffle(order)


def train(model: Llama, examples: list, schedule: Schedule, seed: int, report) -> dict:
    """Trains for exactly `schedule.steps` steps; `report(step, loss)` is called every 50. Returns loss and tokens."""
    matrices = [[model.qkv, model.out], [model.gate_up, model.down]]
    adam = torch.optim.AdamW(
        [model.embedding, model.norms], lr=schedule.adam_lr, betas=(0.9, 0.98), weight_decay=0.01, fused=True
    )
    muon = Muon(matrices)
    settling = torch.optim.AdamW(
        model.parameters(), lr=schedule.settle_lr, betas=(0.9, 0.99), weight_decay=0.0, fused=True
    )
    sorted_batches = batches(examples, schedule.batch, 16, random.Random(f"order:{seed}"))
    random_batches = batches(examples, schedule.batch, 1, random.Random(f"settle:{seed}"))
    # A fixed divisor, so that a token of a short transcript weighs as much as one of a long one.
    usual = schedule.batch * sum(sum(own) for _, own in examples) / len(examples)
    tokens, losses = 0, []
    for step in range(schedule.steps):
        settles = schedule.settles(step)
        ids, rows, targets = next(random_batches if settles else sorted_batches)
        loss = F.cross_entropy(model(ids, rows), targets, reduction="sum") / usual
        loss.backward()
        if settles:
            settling.param_groups[0]["lr"] = schedule.settle_lr * (1 - step / schedule.steps) / schedule.settle
            settling.step()
        else:
            torch.nn.utils.clip_grad_norm_([model.embedding, model.norms], 1.0)
            scale = schedule.scale(step)
            adam.param_groups[0]["lr"] = schedule.adam_lr * scale
            adam.step()
            muon.step(schedule.muon_lr * scale)
        model.zero_grad(set_to_none=True)
        tokens += ids.numel()
        losses.append(loss.item())
        if not math.isfinite(losses[-1]):
            raise RuntimeError(f"the loss became {losses[-1]} at step {step}; lower the learning rates of the recipe")
        if (step + 1) % 50 == 0 or step + 1 == schedule.steps:
            report(step + 1, sum(losses[-50:]) / len(losses[-50:]))
    return {"tokens": tokens, "loss": sum(losses[-50:]) / len(losses[-50:])}
