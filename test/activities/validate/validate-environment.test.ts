// Tier: jail (real jail and runtime; no model).
import { readFileSync } from 'node:fs';
import { CHECK_NAMES } from '../../../activities/environment-checks/run-checks';
import { createValidationActivities } from '../../../activities/validate';
import { certificateSchema } from '../../../contracts/artifacts/certificate';
import { validationSchema } from '../../../contracts/artifacts/environment-check';
import type { RunContext } from '../../../contracts/messages/run-context';
import type { ValidationInput } from '../../../contracts/messages/sharpen-stage';
import { getJson } from '../../../store';
import { fixture as fixturePath, RunFixture } from '../run-fixture';

const good = readFileSync(fixturePath('parcel_desk.py'), 'utf8');
const capability = { id: 'stamps', name: 'Stamps', summary: 'count the stamps' };

/**
 * The good environment with one thing changed; the text must be there. What else can be wrong is in
 * run-checks.test.ts.
 */
function changed(from: string, to: string): string {
  if (!good.includes(from)) throw new Error(`The fixture does not contain ${from}`);
  return good.replaceAll(from, to);
}

describe('validateEnvironment', () => {
  let fixture: RunFixture;
  let context: RunContext;

  beforeAll(async () => {
    fixture = new RunFixture();
    context = await fixture.prepare('http://127.0.0.1:9/v1');
  });
  afterAll(() => fixture.dispose());

  const validate = async (source: string, before?: ValidationInput['before']) => {
    const ref = await fixture.store.put('runs/run-1/environments/stamps', 'environment.py', source);
    const result = await fixture.run(createValidationActivities(fixture.deps).validateEnvironment, {
      context,
      capability,
      source: ref,
      ...(before && { before }),
    });
    const detail = await getJson(fixture.store, result.detail, validationSchema);
    const certificate = await getJson(fixture.store, result.certificate, certificateSchema);
    expect(certificate).toMatchObject({
      certified: false,
      calibration: null,
      checks: detail.checks,
      environment: { sha256: ref.sha256 },
    });
    expect({ passed: detail.passed, problems: detail.problems }).toEqual({
      passed: result.passed,
      problems: result.problems,
    });
    return {
      ...result,
      ref,
      failed: detail.checks.filter(({ passed }) => !passed).map(({ name }) => name),
      checks: detail.checks,
    };
  };

  test('a good environment passes every check', async () => {
    const { passed, problems, checks } = await validate(good);
    expect(problems).toEqual([]);
    expect(passed).toBe(true);
    expect(checks.map(({ name }) => name)).toEqual([...CHECK_NAMES]);
    expect(fixture.heartbeats.at(-1)).toMatchObject({
      stage: 'sharpen',
      unit: 'checks',
      done: checks.length,
      total: checks.length,
    });
  });

  describe('a later attempt', () => {
    /** Both stamps of a pair are sent. */
    const twice = changed('"skill_calls": [1]', '"skill_calls": [0, 1]');

    test('that asks for less of the capability than the first good one is refused', async () => {
      const first = await validate(twice);
      expect(first.passed).toBe(true);
      const broken = await validate(changed('"skill_calls": [1]', '"skill_calls": []'));
      const attempt = ({ ref, detail }: typeof first) => ({ source: ref, validation: detail });
      const { passed, playable, failed, problems } = await validate(good, [attempt(broken), attempt(first)]);
      expect([passed, playable, failed]).toEqual([false, true, ['capability-kept']]);
      expect(problems[0]).toMatch(/^capability-kept: The capability was given up\. 0 % of the tasks ask for/);
      expect(problems[0]).toContain('in attempt 2 it was 100 %');
      const same = await validate(twice, [attempt(broken), attempt(first)]);
      expect(same.passed).toBe(true);
      expect(same.checks.at(-1)).toMatchObject({ name: 'capability-kept', passed: true });
    });

    test('is compared with nothing where no attempt before it was good', async () => {
      const broken = await validate(changed('"skill_calls": [1]', '"skill_calls": []'));
      const { checks } = await validate(good, [{ source: broken.ref, validation: broken.detail }]);
      expect(checks.map(({ name }) => name)).toEqual([...CHECK_NAMES]);
    });
  });

  test('what is no Python cannot be played', async () => {
    expect(await validate('class Environment')).toMatchObject({ passed: false, playable: false });
  });

  test('a jail that is killed from outside is no fault of the environment, and costs no attempt', async () => {
    const killed = new RunFixture();
    let kills = 0;
    let most = 1;
    // The process is killed in the middle of a check, as the kernel does it on a machine without memory.
    const openEnvironment: typeof killed.deps.openEnvironment = async (environment) => {
      const handle = await killed.deps.openEnvironment(environment);
      if (environment.name !== 'stamps') return handle;
      const reference = handle.reference.bind(handle);
      handle.reference = (seed) => {
        if (kills < most && handle.alive) {
          kills++;
          const { process: running } = handle as unknown as { process: { launched: { kill(): void } } };
          // Its kill command does nothing where the process is gone already.
          running.launched.kill();
        }
        return reference(seed);
      };
      return handle;
    };
    const runContext = await killed.prepare('http://127.0.0.1:9/v1');
    const source = await killed.store.put('runs/run-1/environments/stamps', 'environment.py', good);
    const { validateEnvironment } = createValidationActivities({ ...killed.deps, openEnvironment });
    const attempt = (number: number) =>
      killed.run(
        validateEnvironment,
        { context: runContext, capability, source },
        killed.activity({ attempt: number }),
      );
    expect(await attempt(1)).toMatchObject({ passed: true, problems: [] });
    most = Infinity;
    await expect(attempt(1)).rejects.toMatchObject({ type: 'Environment.Killed', nonRetryable: false });
    await expect(attempt(3)).rejects.toMatchObject({ type: 'Environment.Killed', nonRetryable: true });
    await killed.dispose();
  });

  test("opens the agent's own environment once for a run; asks a person when it keeps failing", async () => {
    const own = new RunFixture();
    let opened = 0;
    const openEnvironment: typeof own.deps.openEnvironment = (environment) => {
      if (environment.trust === 'owner') opened++;
      return own.deps.openEnvironment(environment);
    };
    const validateIn = async (runContext: RunContext, attempt = 1) => {
      const source = await own.store.put('runs/run-1/environments/stamps', 'environment.py', good);
      const { validateEnvironment } = createValidationActivities({ ...own.deps, openEnvironment });
      return own.run(validateEnvironment, { context: runContext, capability, source }, own.activity({ attempt }));
    };
    const working = await own.prepare('http://127.0.0.1:9/v1');
    await validateIn(working);
    await validateIn(working);
    expect(opened).toBe(1);
    // Every eleventh task of it ends its process.
    const environment = {
      path: 'raising_desk.py',
      trainSeeds: { start: 0, count: 60 },
      heldOutSeeds: { start: 1000, count: 10 },
    };
    const dying = await own.prepare('http://127.0.0.1:9/v1', { environment }, 'raising_desk.py', 'run-2');
    for (const attempt of [1, 2, 3]) {
      // A process that ends may be the machine's fault, at first.
      await expect(validateIn(dying, attempt)).rejects.toMatchObject({
        type: 'Environment.Failed',
        nonRetryable: attempt === 3,
      });
    }
    await own.dispose();
  });

  test('an environment that ends its process fails its checks and not the activity', async () => {
    const result = await validate(
      // By a detour that the source rules do not see: what they miss, the jail must hold.
      changed(
        'return {"observation": "sent", "done": True}',
        'reach, two = lambda self, name: getattr(self, name), "_" * 2; ' +
          'reach(Environment.reset, two + "globals" + two)["random"]._os._exit(1)',
      ),
    );
    expect(result.passed).toBe(false);
    expect(result.failed).toEqual(['observation-format']);
    expect(result.problems[0]).toContain('ended with code 1');
  });
});
