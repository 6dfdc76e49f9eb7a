// Tier: integration (real programs, real policy server).
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compareEpisodes, DESKS } from '../../bench/captured-tokens/compare-episodes';
import { makeModel } from '../gateway/clients/policy-server';

const folder = mkdtempSync(join(tmpdir(), 'whet-captured-tokens-'));
const model = join(folder, 'model');
beforeAll(() => {
  process.env['WHET_UNJAILED_ENVIRONMENTS'] = 'captured-tokens';
  makeModel(model, join(folder, 'adapter'));
});
afterAll(() => {
  delete process.env['WHET_UNJAILED_ENVIRONMENTS'];
  rmSync(folder, { recursive: true, force: true });
});

// A random model: its answers are other tokens once they are text and tokenized again.
test.each(['program', 'module'] as const)(
  'the tokens kept of a %s are those that the sampler returned',
  async (kind) => {
    const place = mkdtempSync(join(folder, 'episodes-'));
    const options = { environment: DESKS[kind], model, episodes: 20, concurrency: 4, folder: place };
    const compared = await compareEpisodes(options);
    expect(compared.differences).toBe(0);
    expect(compared.answersTokenizedOtherwise).toBeGreaterThan(0);
    // Of five programs one has two sub-agents, and one asks twice more.
    expect(compared.turns).toBe(kind === 'program' ? 20 * 2 + 4 * 2 + 4 * 2 : 20);
  },
);
