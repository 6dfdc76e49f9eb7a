// tier: integration
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { validateCommand } from '../../cli/commands/validate';
import type { Context } from '../../cli/context';
import { createOutput } from '../../cli/output';
import { projectRoot } from '../../contracts/project-root';
import { loadAgentSpec } from '../../loaders/agent-spec';

const folder = join(projectRoot(), 'examples', 'models');
const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'));

test('there is an example for each of the three models', () => {
  expect(files.sort()).toEqual(['llama-3.1-8b.yaml', 'qwen3-30b-a3b.yaml', 'qwen3-4b.yaml']);
});

describe.each(files)('the example %s', (name) => {
  const path = join(folder, name);

  test('passes `whet validate`', async () => {
    const lines: string[] = [];
    const out = createOutput(false, { write: (text: string) => lines.push(text) > 0 });
    const settings = { temporalAddress: 'temporal.example:7233' };
    await validateCommand({ settings, out } as Context, path, { run: false });
    expect(lines.join('')).toContain('valid');
  });

  test('says that it was not tried on a GPU, and has vLLM serve and sample', () => {
    expect(readFileSync(path, 'utf8').split('\n')[1]).toContain('NOT TRIED ON A GPU');
    const { model, training } = loadAgentSpec(path);
    expect(training.sampler).toBe('vllm');
    expect(model.server === 'vllm' || model.baseUrl !== undefined).toBe(true);
    expect(training.maxCompletionTokens).toBe(model.maxCompletionTokens);
  });
});
