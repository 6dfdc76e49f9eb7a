import { z } from 'zod';
import type { AgentSpec } from './config/agent-spec';

/** Sizes of a causal language model, from its config.json. */
const sizesSchema = z.object({
  vocab_size: z.number().positive(),
  hidden_size: z.number().positive(),
  num_hidden_layers: z.number().positive(),
  num_attention_heads: z.number().positive(),
  num_key_value_heads: z.number().positive().nullish(),
  head_dim: z.number().positive().nullish(),
  intermediate_size: z.number().positive(),
  moe_intermediate_size: z.number().positive().nullish(),
  num_experts: z.number().positive().nullish(),
  num_local_experts: z.number().positive().nullish(),
  max_position_embeddings: z.number().positive().default(2048),
  tie_word_embeddings: z.boolean().nullish(),
});

/** Memory of a trainer, in bytes. */
export interface TrainerMemory {
  weights: number;
  /** LoRA factors, their gradients, and AdamW's two moments, all float32. */
  adapter: number;
  /** Largest need of one pass of the update. */
  activations: number;
  /** Keys and values of the engine; 0 with vLLM, which has its own memory. */
  cache: number;
  total: number;
}

/** Assumed length of a prompt in tokens: the opening of a task with its tools. */
const PROMPT_TOKENS = 1024;
/** Longest sequence of the engine in tokens. */
const ENGINE_TOKENS = 1024;

/**
 * Estimates a trainer's memory from the base model's config.json; null if it cannot interpret the sizes there. The
 * activations are an upper bound, since rollouts are normally shorter than their limit. On a `gpu` the base is bfloat16
 * unless the engine samples.
 */
export function estimateTrainerMemory(
  config: unknown,
  { training, environment }: Pick<AgentSpec, 'training' | 'environment'>,
  gpu: boolean,
): TrainerMemory | null {
  const nested = z.object({ text_config: z.unknown() }).safeParse(config);
  const parsed = sizesSchema.safeParse(nested.success && nested.data.text_config ? nested.data.text_config : config);
  if (!parsed.success) return null;
  const sizes = parsed.data;
  const hidden = sizes.hidden_size;
  const layers = sizes.num_hidden_layers;
  const head = sizes.head_dim ?? hidden / sizes.num_attention_heads;
  const queries = sizes.num_attention_heads * head;
  const keys = (sizes.num_key_value_heads ?? sizes.num_attention_heads) * head;
  const experts = sizes.num_experts ?? sizes.num_local_experts ?? 1;
  const inner = experts > 1 ? (sizes.moe_intermediate_size ?? sizes.intermediate_size) : sizes.intermediate_size;
  const embeddings = sizes.vocab_size * hidden * (sizes.tie_word_embeddings === true ? 1 : 2);
  const attention = hidden * (2 * queries + 2 * keys);
  const parameters = embeddings + layers * (attention + 3 * hidden * inner * experts);

  const engine = training.sampler === 'engine';
  const width = gpu && !engine ? 2 : 4;
  // The engine has its own copy.
  const weights = parameters * (engine ? 8 : width);
  // PEFT's all-linear: attention and, unless they are experts, the three matrices of the feed-forward part.
  const sides = 2 * (hidden + queries) + 2 * (hidden + keys) + (experts > 1 ? 0 : 3 * (hidden + inner));
  const adapter = training.rank * sides * layers * 16;
  const length = Math.min(
    engine ? ENGINE_TOKENS : sizes.max_position_embeddings,
    environment.maxTurns * training.maxCompletionTokens + PROMPT_TOKENS,
  );
  const rollouts = training.groups * training.rolloutsPerGroup;
  const tokens = training.updateTokens > 0 ? Math.min(training.updateTokens, rollouts * length) : rollouts * length;
  // The tensors of a block that autograd keeps: inputs of its matrices and norms, and the parts of attention.
  const block = 8 * hidden + 2 * (queries + keys) + 4 * inner;
  const kept = training.gradientCheckpointing ? layers * hidden + block : layers * block;
  const activations = tokens * kept * width;
  const cache = engine ? rollouts * length * layers * keys * 2 * 4 : 0;
  return { weights, adapter, activations, cache, total: weights + adapter + activations + cache };
}

/** Bytes of a Kubernetes memory quantity (`8Gi`, `500M`); null for any other text. */
export function bytesOfQuantity(quantity: string): number | null {
  const match = /^(\d+(?:\.\d+)?)(k|M|G|T|Ki|Mi|Gi|Ti)?$/.exec(quantity);
  if (!match) return null;
  const unit = match[2] ?? '';
  const power = ' kMGT'.indexOf(unit[0] ?? ' ');
  const base = unit.endsWith('i') ? 1024 : 1000;
  // Kibibytes are written with a capital letter.
  return Number(match[1]) * base ** (unit === 'Ki' ? 1 : power);
}
