// tier: unit
import { agentSpecSchema } from '../../contracts/config/agent-spec';
import { bytesOfQuantity, estimateTrainerMemory } from '../../contracts/trainer-memory';

const spec = (training: object = {}) =>
  agentSpecSchema.parse({
    version: 1,
    name: 'desk',
    environment: {
      path: 'e.py',
      trainSeeds: { start: 0, count: 1 },
      heldOutSeeds: { start: 9, count: 1 },
      maxTurns: 4,
    },
    model: { name: 'base', path: '/m' },
    analyst: { baseUrl: 'http://localhost:1/v1', model: 'a' },
    training,
  });
/** Sizes of Qwen3-4B: 4.02 thousand million parameters. */
const QWEN3_4B = {
  vocab_size: 151_936,
  hidden_size: 2560,
  num_hidden_layers: 36,
  num_attention_heads: 32,
  num_key_value_heads: 8,
  head_dim: 128,
  intermediate_size: 9728,
  max_position_embeddings: 40_960,
  tie_word_embeddings: true,
};
const GB = 1e9;

test('a 4B model on a GPU: weights in bfloat16, LoRA in float32 with its optimiser', () => {
  const memory = estimateTrainerMemory(QWEN3_4B, spec({ sampler: 'managed', rank: 32 }), true)!;
  expect(memory.weights / GB).toBeCloseTo(8.04, 1);
  // 66 million parameters at rank 32.
  expect(memory.adapter / 16 / 1e6).toBeCloseTo(66, 0);
  expect(memory.cache).toBe(0);
  expect(memory.total).toBe(memory.weights + memory.adapter + memory.activations);
});

test('minibatches and checkpointing lower the activations, and nothing else', () => {
  const whole = estimateTrainerMemory(QWEN3_4B, spec({ sampler: 'managed' }), true)!;
  const parts = estimateTrainerMemory(QWEN3_4B, spec({ sampler: 'managed', updateTokens: 4096 }), true)!;
  const again = estimateTrainerMemory(QWEN3_4B, spec({ sampler: 'managed', gradientCheckpointing: true }), true)!;
  expect(parts.activations).toBeLessThan(whole.activations / 5);
  expect(again.activations).toBeLessThan(whole.activations / 10);
  expect([parts.weights, again.adapter]).toEqual([whole.weights, whole.adapter]);
});

test('experts count in the weights and not in the adapter; text_config is found', () => {
  const experts = { ...QWEN3_4B, num_experts: 8, moe_intermediate_size: 768 };
  const dense = { ...QWEN3_4B, intermediate_size: 768 };
  const of = (config: object) => estimateTrainerMemory(config, spec({ sampler: 'managed' }), false)!;
  expect(of(experts).weights - of(dense).weights).toBe(7 * 36 * 3 * 2560 * 768 * 4);
  expect(of(experts).adapter).toBeLessThan(of(dense).adapter);
  expect(of({ text_config: QWEN3_4B }).weights).toBe(of(QWEN3_4B).weights);
});

test('the engine holds a second copy and a cache', () => {
  const memory = estimateTrainerMemory(QWEN3_4B, spec(), false)!;
  expect(memory.weights / GB).toBeCloseTo(32.2, 0);
  expect(memory.cache).toBe(16 * 1024 * 36 * 8 * 128 * 2 * 4);
});

test('a config without sizes gives no estimate', () => {
  expect(estimateTrainerMemory({}, spec(), true)).toBeNull();
  expect(estimateTrainerMemory(null, spec(), true)).toBeNull();
});

test('quantities', () => {
  expect(['8Gi', '500M', '1.5Gi', '100', '2Ki', '2k', 'x'].map(bytesOfQuantity)).toEqual([
    8 * 1024 ** 3,
    500e6,
    1.5 * 1024 ** 3,
    100,
    2048,
    2000,
    null,
  ]);
});
