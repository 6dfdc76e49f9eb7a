"""Log-probabilities of a batch of rollouts, with each shared prefix computed once and no padding.

Rollouts of one task share their prompt and often their first turns, so the token sequences of a batch form a tree. Each
node of the tree passes through the network once; only attention uses whole sequences, which are gathered from the
nodes.

The LoRA factors are merged into the base weights inside the autograd graph, so that their gradients come from a few
full-size matrix products. For models of a few million parameters that is several times faster than low-rank branches.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from whetstone.engine import Weights
from whetstone.engine.weights import FUSED, rotary_table


class PrefixTree:
    """The distinct prefixes of token sequences, one node for each.

    Node i has the token `tokens[i]`, the parent `parents[i]` (-1 for a root) and the depth `depths[i]`; all are
    `[nodes]`. `paths[row]` lists the nodes of a sequence from its root on, `[length of the sequence]`.
    """

    def __init__(self, rows: list[list[int]]) -> None:
        known: dict[tuple[int, int], int] = {}
        self.tokens: list[int] = []
        self.parents: list[int] = []
        self.depths: list[int] = []
        self.paths: list[list[int]] = []
        for row in rows:
            node, path = -1, []
            for depth, token in enumerate(row):
                following = known.get((node, token))
                if following is None:
                    following = known[(node, token)] = len(self.tokens)
                    self.tokens.append(token)
                    self.parents.append(node)
                    self.depths.append(depth)
                node = following
                path.append(node)
            self.paths.append(path)


class _Norm(torch.autograd.Function):
    """x / sqrt(sum(x^2) + epsilon) of each row of `[rows, hidden]`."""

    @staticmethod
    def forward(ctx, x: torch.Tensor, epsilon: float) -> torch.Tensor:
        scale = torch.linalg.vecdot(x, x).add_(epsilon).rsqrt_().unsqueeze(1)
        y = x * scale
        ctx.save_for_backward(y, scale)
        return y

    @staticmethod
    def backward(ctx, grad: torch.Tensor):
        y, scale = ctx.saved_tensors
        along = torch.linalg.vecdot(grad, y).unsqueeze(1)
        return torch.addcmul(grad, y, along, value=-1.0).mul_(scale), None


class _Gated(torch.autograd.Function):
    """silu(gate) * up, `[rows, inner]`, from a fused `[rows, 2 * inner]`."""

    @staticmethod
    def forward(ctx, fused: torch.Tensor) -> torch.Tensor:
        gate, up = fused.chunk(2, 1)
        sigmoid = torch.sigmoid(gate)
        ctx.save_for_backward(fused, sigmoid)
        return (gate * sigmoid).mul_(up)

    @staticmethod
    def backward(ctx, grad: torch.Tensor) -> torch.Tensor:
        fused, sigmoid = ctx.saved_tensors
        gate, up = fused.chunk(2, 1)
        silu = gate * sigmoid
        out = torch.empty_like(fused)
        torch.mul(grad, silu, out=out[:, fused.shape[1] // 2 :])
        # d silu = sigmoid + silu * (1 - sigmoid)
        slope = torch.addcmul(sigmoid + silu, silu, sigmoid, value=-1.0)
        torch.mul(slope.mul_(up), grad, out=out[:, : fused.shape[1] // 2])
        return out


class PrefixTreePolicy:
    """Log-probabilities of a live PEFT model, or of its base model, over prefix trees.

    `factors[(layer, module)]` are the model's LoRA parameters `(A [rank, in], B [out, rank])`, `scale` is alpha / rank.
    `temperature` divides the logits.
    """

    def __init__(self, weights: Weights, factors: dict, scale: float, temperature: float) -> None:
        self._weights, self._factors, self._scale, self._temperature = weights, factors, scale, temperature
        self._rotations = rotary_table(weights.shape, weights.shape.max_positions, weights.device)
        self._epsilon = weights.shape.norm_eps * weights.shape.hidden

    def _matrices(self, adapted: bool) -> list[tuple[torch.Tensor, ...]]:
        """The fused matrices `[in, out]` of each layer, with the live adapter merged in when `adapted`."""
        weights = self._weights
        layers = []
        for index, layer in enumerate(weights.layers):
            fused = []
            for name, modules in FUSED.items():
                base = getattr(layer, name).base
                if not adapted:
                    fused.append(base)
                    continue
                columns = []
                for module, width in zip(modules, weights.widths(modules), strict=True):
                    if (index, module) not in self._factors:
                        columns.append(base.new_zeros(base.shape[0], width))
                        continue
                    a, b = self._factors[(index, module)]
                    a = weights.input_side(index, module, a)
                    columns.append(a.t() @ weights.output_side(module, b).t())
                update = columns[0] if len(columns) == 1 else torch.cat(columns, 1)
                fused.append(torch.add(base, update, alpha=self._scale))
            layers.append(tuple(fused))
        return layers

    def logprobs(self, tree: PrefixTree, targets: list[int], adapted: bool) -> torch.Tensor:
        """Log-probability of each target node's token given the path before it, `[targets]`, in nats.

        Roots cannot be targets. With `adapted` the result is differentiable in the LoRA factors.
        """
        shape, device = self._weights.shape, self._weights.device
        heads, groups, dim = shape.heads, shape.kv_heads, shape.head_dim
        x = self._weights.embedding[torch.tensor(tree.tokens, device=device)]
        rotary = self._rotations[torch.tensor(tree.depths, device=device)]
        gather, scatter = (index.to(device) for index in _sequences(tree))
        for qkv, o, gate_up, down in self._matrices(adapted):
            fused = (_Norm.apply(x, self._epsilon) @ qkv).view(-1, heads + 2 * groups, dim)
            turning, values = fused.split([heads + groups, groups], 1)
            turned = torch.view_as_complex(turning.unflatten(2, (-1, 2))) * rotary
            q, k = torch.view_as_real(turned).flatten(2).split([heads, groups], 1)
            q, k, v = (part[gather].transpose(1, 2) for part in (q, k, values))
            # The weights of q already contain 1 / sqrt(head_dim).
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0, enable_gqa=heads != groups)
            mixed = mixed.transpose(1, 2).reshape(-1, heads * dim)[scatter]
            x = torch.addmm(x, mixed, o)
            x = torch.addmm(x, _Gated.apply(_Norm.apply(x, self._epsilon) @ gate_up), down)
        parents = [tree.parents[target] for target in targets]
        order = {parent: row for row, parent in enumerate(dict.fromkeys(parents))}
        last = x[torch.tensor(list(order), device=device)]
        logits = _Norm.apply(last, self._epsilon) @ self._weights.head
        if self._temperature != 1.0:
            logits = logits / self._temperature
        rows = torch.tensor([order[parent] for parent in parents], device=device)
        tokens = torch.tensor([tree.tokens[target] for target in targets], device=device)
        return torch.log_softmax(logits, -1)[rows, tokens]


def _sequences(tree: PrefixTree) -> tuple[torch.Tensor, torch.Tensor]:
    """The node at each place of the padded sequences, `[rows, longest]`, and for each node a flat place that holds it.

    Sequences that are prefixes of others are left out. Padding comes after a sequence, where the causal mask hides it.
    """
    inner = set(tree.parents)
    paths = list({path[-1]: path for path in tree.paths if path[-1] not in inner}.values())
    width = max(len(path) for path in paths)
    gather = torch.tensor([path + [path[-1]] * (width - len(path)) for path in paths])
    place = [0] * len(tree.tokens)
    for row in range(len(paths) - 1, -1, -1):
        for column, node in enumerate(paths[row]):
            place[node] = row * width + column
    return gather, torch.tensor(place)


class PrefixTreeBatch:
    """The rows of a step's tensors as a prefix tree, with the mapping from its nodes back to the tensors.

    `ids` and `attention` `[rows, columns]` are TRL's, with prompts padded on the left and completions on the right.
    `mask` `[rows, completion]` is 1 for each token of the last columns whose log-probability is needed.
    """

    def __init__(self, ids: torch.Tensor, attention: torch.Tensor, mask: torch.Tensor) -> None:
        rows = [row[kept].tolist() for row, kept in zip(ids, attention.bool(), strict=True)]
        lengths = attention[:, : -mask.shape[1]].sum(1).tolist()
        self._tree = PrefixTree(rows)
        nodes = [self._tree.paths[row][lengths[row] + column] for row, column in mask.nonzero().tolist()]
        numbers = {node: number for number, node in enumerate(dict.fromkeys(nodes))}
        self._targets = list(numbers)
        # For each masked place: the index of its node among the targets, and its own index in the flat mask.
        self._numbers = torch.tensor([numbers[node] for node in nodes], device=mask.device)
        self._shape, self._flat = mask.shape, mask.flatten().nonzero()[:, 0]

    def logprobs(self, policy: PrefixTreePolicy, adapted: bool) -> torch.Tensor:
        """Log-probabilities at the places of the mask and zero elsewhere, `[rows, completion]`, in nats."""
        values = policy.logprobs(self._tree, self._targets, adapted=adapted)
        out = values.new_zeros(self._shape.numel())
        return out.index_copy(0, self._flat, values[self._numbers]).view(self._shape)
