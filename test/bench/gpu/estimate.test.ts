// tier: integration
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { agentSpecSchema } from '../../../contracts/config/agent-spec';
import { estimateTrainerMemory } from '../../../contracts/trainer-memory';
import { projectRoot } from '../../../contracts/project-root';

const DENSE = {
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
const { head_dim: _head, num_key_value_heads: _keys, max_position_embeddings: _most, ...SPARSE } = DENSE;
const CONFIGS = [
  DENSE,
  SPARSE,
  { ...DENSE, num_experts: 128, moe_intermediate_size: 768, tie_word_embeddings: false },
  { ...DENSE, num_local_experts: 8 },
  { text_config: { ...DENSE, hidden_size: 4096 } },
];
const TRAININGS = [
  { sampler: 'managed' as const },
  { sampler: 'engine' as const },
  { sampler: 'managed' as const, updateTokens: 4096, gradientCheckpointing: true, rank: 8 },
  { sampler: 'managed' as const, groups: 1, rolloutsPerGroup: 2, maxCompletionTokens: 8192, updateTokens: 2 ** 30 },
];

test('the estimate of bench/gpu.py is that of whet run --dry-run', () => {
  const asked = CONFIGS.flatMap((config) =>
    TRAININGS.flatMap((training) => [true, false].map((gpu) => ({ config, training, gpu }))),
  ).map(({ config, training, gpu }) => {
    const spec = agentSpecSchema.parse({
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
    const options = { ...spec.training, maxTurns: spec.environment.maxTurns };
    return { config, options, gpu, expected: estimateTrainerMemory(config, spec, gpu) };
  });
  const answer = execFileSync('python3', [join(projectRoot(), 'bench', 'gpu', 'estimate.py')], {
    input: JSON.stringify(asked.map(({ config, options, gpu }) => ({ config, options, gpu }))),
    encoding: 'utf8',
  });
  expect(asked).toHaveLength(40);
  expect(JSON.parse(answer)).toEqual(asked.map(({ expected }) => expected));
});
