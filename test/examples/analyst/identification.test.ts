// tier: integration
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { identificationSchema } from '../../../contracts/artifacts/identification';
import { DEMO_ANALYST_MODEL, openDeskRules } from '../../../examples/orders-desk/analyst/answers';
import { Journal } from '../../../examples/shared/analyst/journal';
import { createAnalystServer } from '../../../examples/shared/analyst/server';
import { getJson } from '../../../store';
import { IdentifyWorld } from '../../activities/identify/identify-world';
import { ANALYST_ASSETS, demonstrations } from './desk';

const PLANTED = ['append-postal-code', 'credit-every-item', 'status-before-cancel', 'verify-before-refund'];
const DECOYS = ['escalate-legal-threats', 'greet-the-customer'];

let app: FastifyInstance;
let world: IdentifyWorld;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'whet-analyst-'));
  app = createAnalystServer({
    rules: openDeskRules(ANALYST_ASSETS),
    journal: new Journal(join(folder, 'journal.jsonl')),
  });
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  world = new IdentifyWorld(`${address}/v1`, { groundTruth: { planted: PLANTED, decoys: DECOYS } });
});

afterAll(async () => {
  await app.close();
  await world.fixture.dispose();
  rmSync(folder, { recursive: true, force: true });
});

test('the planted deficits of the orders desk are found, its decoys are not kept, and nothing is billed twice', async () => {
  const { result, totals } = await world.identify(
    await world.inputOf(demonstrations(250), 'run-1', DEMO_ANALYST_MODEL),
  );
  const { planted, contrasts } = await getJson(world.fixture.store, result.identification, identificationSchema);
  expect(planted?.found.map((match) => match.planted).sort()).toEqual(PLANTED);
  expect(planted).toMatchObject({ missed: [], invented: [], decoysKept: [] });
  expect(
    contrasts
      .filter(({ kept }) => !kept)
      .map(({ capabilityId }) => capabilityId)
      .sort(),
  ).toEqual(['escalate-legal-threats', 'greet-the-customer']);
  const stats = (await (await fetch(`${app.listeningOrigin}/stats`)).json()) as Record<string, unknown>;
  expect(stats).toMatchObject({ billed: { label: totals.asked }, duplicateKeys: 0, billedTwice: 0 });
});
