// Tier: jail (real jail and runtime; no model).
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runChecks, CHECK_NAMES } from '../../../activities/environment-checks/run-checks';
import { readTargetProfile, type TargetProfile } from '../../../activities/environment-checks/target-profile';
import { agentSpecSchema } from '../../../contracts/config/agent-spec';
import { openEnvironment } from '../../../sandbox';
import { fixture } from '../run-fixture';
import { BROKEN, breakEnvironment, edited } from './environments/broken';
import { GOOD_WITH_CHOICES, OFFICE_WITH_CHOICES } from './environments/choices';

const FOLDER = join(__dirname, 'environments');
const GOOD = readdirSync(join(FOLDER, 'good')).filter((name) => name.endsWith('.py'));
const sourceOf = (name: string) => readFileSync(join(FOLDER, 'good', name), 'utf8');

const spec = agentSpecSchema.parse({
  version: 1,
  name: 'post-office',
  environment: {
    path: 'post_office.py',
    trainSeeds: { start: 0, count: 100 },
    heldOutSeeds: { start: 1000, count: 100 },
  },
  model: { name: 'base' },
});

describe('certificate', () => {
  /** The agent whose own environment the broken ones began as: what differs from it is the fault. */
  let target: TargetProfile;

  const profileOf = (source: string) => {
    const environment = { source, trust: 'owner' as const, name: 'post office' };
    return readTargetProfile({
      openEnvironment,
      environment,
      spec: spec.environment,
      signal: new AbortController().signal,
    });
  };
  const office = readFileSync(fixture('post_office.py'), 'utf8');

  beforeAll(async () => {
    target = await profileOf(sourceOf('replaying_class.py'));
  });

  const check = async (name: string, source: string, against = target) => {
    const environment = { source, trust: 'synthesised' as const, name };
    const validation = await runChecks({
      openEnvironment,
      environment,
      target: against,
      settings: spec.certificate,
      signal: new AbortController().signal,
      onCheck: () => undefined,
    });
    return { ...validation, failed: validation.checks.filter(({ passed }) => !passed).map((check) => check.name) };
  };

  test('there are five good environments and more than twenty broken ones', () => {
    expect(GOOD).toHaveLength(5);
    expect(Object.keys(BROKEN).length).toBeGreaterThan(20);
  });

  test.each(GOOD)('%s passes', async (name) => {
    // Each is worded in its own way, and so is its agent.
    const { passed, problems, checks } = await check(name, sourceOf(name), await profileOf(sourceOf(name)));
    expect(problems).toEqual([]);
    expect(passed).toBe(true);
    expect(checks.map((check) => check.name)).toEqual([...CHECK_NAMES]);
  });

  test('a good environment passes where its agent has no reference solutions', async () => {
    // As readTargetProfile gives it of a process that has none: a few tasks, their openings and answers.
    const judgement = { changes: new Map(), answers: new Map(), byChange: [] };
    const without = {
      ...target,
      solved: [],
      judgement,
      tasks: target.tasks.map((task) => ({ ...task, reference: [] })),
    };
    const { problems, passed } = await check('without', sourceOf('replaying_class.py'), without);
    expect(problems).toEqual([]);
    expect(passed).toBe(true);
  });

  test('booleans, choices that an error lists, and what the agent is told as well give nothing away', async () => {
    const against = await profileOf(edited(office, OFFICE_WITH_CHOICES));
    const { checks } = await check('choices', edited(sourceOf('replaying_class.py'), GOOD_WITH_CHOICES), against);
    const leakage = checks.filter(({ group }) => group === 'no-leakage');
    expect(leakage.map(({ name, passed }) => [name, passed])).toEqual([
      ['held-out-text', true],
      ['answers', true],
    ]);
  });

  test.each(Object.entries(BROKEN))('%s fails for the right reason', async (name, broken) => {
    const { failed, problems } = await check(name, breakEnvironment(sourceOf('replaying_class.py'), broken));
    expect(failed.filter((one) => !broken.perhaps?.includes(one))).toEqual(broken.fails);
    expect(problems.join('\n')).toMatch(broken.reason);
  });
});
