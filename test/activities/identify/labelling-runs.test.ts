// tier: integration
import { createHash } from 'node:crypto';
import { type Identification, identificationSchema } from '../../../contracts/artifacts/identification';
import { getJson, readDictionary } from '../../../store';
import {
  startFakeAnalyst,
  type FakeAnalystAnswer,
  type FakeAnalyst,
  type FakeAnalystRequest,
} from '../../fakes/analyst-endpoint';
import { SKILLS, syntheticAnswer, syntheticEpisode } from '../../fakes/synthetic-episodes';
import { IdentifyWorld } from './identify-world';

let stub: FakeAnalyst;
let world: IdentifyWorld;
let special: (request: FakeAnalystRequest, index: number) => FakeAnalystAnswer | null;

const kindOf = (request: FakeAnalystRequest) => request.body.response_format?.json_schema.name;
const identified = async (input: Awaited<ReturnType<IdentifyWorld['input']>>) => {
  const outcome = await world.identify(input);
  return {
    ...outcome,
    identification: await getJson<Identification>(
      world.fixture.store,
      outcome.result.identification,
      identificationSchema,
    ),
  };
};
const byId = ({ contrasts }: Identification) => new Map(contrasts.map((contrast) => [contrast.capabilityId, contrast]));

async function open(identify: Record<string, unknown>): Promise<void> {
  special = () => null;
  stub = await startFakeAnalyst((request, index) => special(request, index) ?? syntheticAnswer(request));
  world = new IdentifyWorld(stub.url, {
    identify,
    groundTruth: { planted: ['truth Skill one', 'truth Skill two'], decoys: ['truth Skill three'] },
  });
}

afterEach(async () => {
  await stub.close();
  await world.fixture.dispose();
});

/** A labeller that errs in every tenth answer, differently in each run: the run is part of the key. */
const noisy = (request: FakeAnalystRequest): FakeAnalystAnswer | null => {
  if (kindOf(request) !== 'label') return null;
  const byte = createHash('sha256').update(String(request.headers['idempotency-key'])).digest()[0] as number;
  return byte < 26 ? { content: '{"reason":"a slip","step":null,"label":"PRESENT"}' } : null;
};

test('labels are asked once in each run, and no more where the verdict is final', async () => {
  await open({ runs: 5, quorum: 4 });
  special = noisy;
  const { identification, totals, plans } = await identified(await world.input(160));
  const contrasts = byId(identification);
  expect(identification.kept.sort()).toEqual(['skill-one', 'skill-two']);
  expect(contrasts.get('skill-one')).toMatchObject({ verdict: 'kept', runsPassed: 4, status: 'new' });
  expect(contrasts.get('skill-one')?.runs).toHaveLength(4);
  expect(contrasts.get('skill-one')?.agreement).toBeGreaterThan(0.6);
  expect(contrasts.get('skill-one')?.agreement).toBeLessThan(0.95);
  const rejected = [...contrasts.values()].filter(({ verdict }) => verdict === 'rejected');
  expect(rejected.length).toBeGreaterThan(0);
  rejected.forEach(({ runs }) => expect(runs.length).toBeLessThan(5));
  const made = identification.contrasts.reduce((sum, { runs }) => sum + 160 * runs.length, 0);
  expect(totals.asked).toBe(made);
  expect(identification.calls).toMatchObject({ label: made, saved: 7 * 160 * 5 - made });
  expect(plans[0]?.calls).toBe(7 * 160);
  expect(plans.at(-1)?.calls).toBeLessThan(7 * 160);
  expect(new Set(stub.requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(stub.requests.length);
});

test('the same identification again asks for nothing and says the same', async () => {
  await open({ runs: 3 });
  special = noisy;
  const first = await identified(await world.input(60));
  const before = stub.requests.length;
  const second = await identified(await world.input(60));
  expect(stub.requests).toHaveLength(before);
  expect(second.identification).toEqual({
    ...first.identification,
    calls: expect.anything(),
    usage: expect.anything(),
  });
});

test('evidence quotes the step of failures that the runs agree on', async () => {
  await open({ runs: 3 });
  const { identification } = await identified(await world.input(60));
  const own = identification.evidence.filter(({ capabilityId }) => capabilityId === 'skill-one');
  expect(own).toHaveLength(3);
  own.forEach((evidence) =>
    expect(evidence).toMatchObject({
      step: 3,
      quote: expect.stringContaining('<Skill one: LACKING>'),
      runsLacking: 3,
      runs: 3,
    }),
  );
});

test('ablations choose from the same labels: failures alone, as many at random, one run', async () => {
  await open({ runs: 3, ablations: true });
  const { identification } = await identified(await world.input(160));
  const arms = new Map(identification.ablations?.map(({ arm, ...rest }) => [arm, rest]));
  expect(arms.get('contrast')?.kept).toEqual(identification.kept);
  expect(arms.get('failures-only')?.kept.length).toBeGreaterThan(2);
  expect(arms.get('failures-only')?.planted?.decoysKept).toEqual(['truth Skill three']);
  expect(arms.get('random')?.kept).toHaveLength(identification.kept.length);
  expect(arms.get('single-run')?.kept).toEqual(identification.kept);
});

test('an arm that is asked for is what goes on to be trained', async () => {
  await open({ runs: 3, arm: 'single-run' });
  const single = await identified(await world.input(60));
  expect(single.plans).toHaveLength(1);
  expect(single.identification).toMatchObject({ arm: 'single-run', rule: { runs: 1, quorum: 1 } });
});

describe('from night to night', () => {
  const nightOf = async (runId: string, from: number) => {
    const trajectories = Array.from({ length: 160 }, (_, i) => syntheticEpisode(from + i));
    return identified(await world.inputOf(trajectories, runId, 'm-1'));
  };
  /** What the agent can do now, it shows wherever it was called for. */
  const cured = (skill: string) => (request: FakeAnalystRequest) =>
    kindOf(request) === 'label' && request.body.messages[1]?.content.includes(`Capability: ${skill}\n`)
      ? { content: '{"reason":"done","step":3,"label":"PRESENT"}' }
      : null;

  test('capabilities are new, recurring, fixed and regressed', async () => {
    await open({ runs: 1 });
    const status = ({ identification }: Awaited<ReturnType<typeof nightOf>>) =>
      byId(identification).get('skill-one')?.status;
    expect(status(await nightOf('night-1', 0))).toBe('new');
    expect(status(await nightOf('night-2', 1000))).toBe('recurring');
    special = cured('Skill one');
    expect(status(await nightOf('night-3', 2000))).toBe('fixed');
    special = () => null;
    expect(status(await nightOf('night-4', 3000))).toBe('regressed');
    const { entries } = await readDictionary(world.fixture.store, 'parcels');
    expect(entries.find(({ id }) => id === 'skill-one')?.history.map(({ runId, status: s }) => [runId, s])).toEqual([
      ['night-1', 'new'],
      ['night-2', 'recurring'],
      ['night-3', 'fixed'],
      ['night-4', 'regressed'],
    ]);
  });

  test('what was lacking is tried first, and other words for it are merged into it', async () => {
    await open({ runs: 1, maxCandidates: 3 });
    await nightOf('night-1', 0);
    special = (request) => {
      const name = (n: string) => ({
        name: n,
        summary: n,
        description: `The agent has ${n}.`,
        episodes: [1, 2, 3, 4, 5, 6, 7, 8, 9],
        notTrainable: null,
      });
      if (kindOf(request) === 'discover')
        return { content: JSON.stringify({ capabilities: [name('The first skill'), name('Skill nine')] }) };
      if (kindOf(request) !== 'merge') return null;
      const line = /^(\d+)\. The first skill/m.exec(request.body.messages[1]?.content ?? '')?.[1];
      const known = /^(\d+)\. Skill one/m.exec(request.body.messages[1]?.content ?? '')?.[1];
      return { content: JSON.stringify({ groups: [{ members: [Number(line), Number(known)], reason: 'the same' }] }) };
    };
    const { identification } = await nightOf('night-2', 1000);
    expect(identification.candidates.map(({ id }) => id)).toEqual(['skill-one', 'skill-two', 'skill-nine']);
    expect(identification.merges).toMatchObject([{ name: 'The first skill', into: 'skill-one', reason: 'the same' }]);
    const { entries } = await readDictionary(world.fixture.store, 'parcels');
    expect(entries.find(({ id }) => id === 'skill-one')?.aliases).toEqual(['The first skill']);
  });

  test('a study leaves no trace and has labels of its own', async () => {
    await open({ runs: 1 });
    const input = await world.input(60);
    await identified({ ...input, independent: { firstRun: 0 } });
    const { totals } = await identified({
      ...input,
      context: { ...input.context, runId: 'run-1' },
      independent: { firstRun: 1 },
    });
    expect(totals.asked).toBe(60 * SKILLS.length);
    expect((await readDictionary(world.fixture.store, 'parcels')).entries).toEqual([]);
  });
});
