// tier: e2e
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Report } from '../../contracts/artifacts/report';
import type { ImprovementRunResult } from '../../contracts/messages/run';
import { processesOfInstance } from '../../cli/supervisor/processes';
import { LocalStore, readRegistry } from '../../store';
import { ROOT, WhetHome } from './whet-home';

// A whole run takes minutes, and several times that where others work on the machine. The limit only ends a hang.
jest.setTimeout(1_800_000);

const { home, whet, whetWith, demo, dispose } = new WhetHome();
const AGENT = join(ROOT, 'examples', 'orders-desk', 'agent.tiny.yaml');

afterAll(dispose);

describe('a tiny run, end to end', () => {
  let result: ImprovementRunResult;
  let report: Report;

  beforeAll(async () => void ({ result, report } = await demo(AGENT, '--keep')));

  test('goes through every stage and leaves a report of the documented form', () => {
    expect(report.runId).toBe(result.runId);
    expect(report.stages.map((stage) => stage.name)).toEqual([
      'collect',
      'identify',
      'sharpen',
      'evaluate',
      'promote',
      'report',
    ]);
    expect(report.verdict).toBe(result.verdict);
    expect(readFileSync(join(result.reportDirectory!, 'report.html'), 'utf8')).toContain(result.runId);
  });

  test('trains an adapter for what it kept, in an environment that passed validation and calibration', () => {
    const trained = report.sharpened.filter((s) => s.status === 'trained');
    expect(trained.length).toBeGreaterThan(0);
    for (const { attempts, adapter } of trained) {
      expect(attempts.at(-1)).toMatchObject({
        accepted: true,
        validation: { passed: true },
        calibration: { verdict: 'in-band' },
      });
      expect(adapter?.rollouts).toBeGreaterThan(0);
    }
  });

  test('compares base, adapters, routed and oracle on the same held-out tasks', () => {
    const { evaluation } = report;
    expect(evaluation?.base.episodes).toBe(evaluation?.routed.episodes);
    // The oracle picks each task's arm without the trial it is scored on, so on 60 tasks it may fall below an arm; its
    // ceiling cannot.
    const rates = [evaluation?.base, evaluation?.bestSingle, evaluation?.oracle].map(
      (arm) => arm?.passRate.estimate ?? 1,
    );
    expect(evaluation?.oracleCeiling).toBeGreaterThanOrEqual(Math.max(...rates));
    expect(evaluation?.adapters).toHaveLength(report.sharpened.filter((s) => s.status === 'trained').length);
  });

  test('says openly what is planted, and that the analyst is a demo', () => {
    expect(report.analyst).toContain('demo analyst (rule-based)');
    expect(report.identification.planted).toBeDefined();
    expect(report.notes.join(' ')).toMatch(/planted/i);
  });

  test('promotes only when the gate is passed', async () => {
    const { active } = await readRegistry(new LocalStore(join(home, 'store')), report.agent);
    expect(active !== null).toBe(report.gate?.passed === true);
    expect(active).toBe(result.promotedVersion ?? null);
  });

  test('is listed and explained, and its services go down without a trace', async () => {
    const why = JSON.parse((await whet('why', result.runId, '--json')).stdout) as { status: string; why: string[] };
    expect(why.status).toBe('completed');
    expect(why.why[0]).toContain(result.verdict);
    const again = await whet('up', AGENT, '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({ started: false });
    const { instance } = JSON.parse(again.stdout) as { instance: string };
    expect(processesOfInstance(instance).length).toBeGreaterThan(0);
    expect((await whet('down')).stdout).toContain('stopped: temporal');
    expect(processesOfInstance(instance)).toEqual([]);
    expect((await whet('down')).stdout).toBe('Nothing was up.\n');
    expect(readdirSync(home)).not.toContain('supervisor.json');
  });
});

describe('bad input', () => {
  test('of every kind exits with 2 and starts nothing', async () => {
    expect(await whet('run', 'no-such.yaml')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('there is no such file'),
    });
    expect(await whet('demo', 'no-such.yaml')).toMatchObject({ code: 2 });
    expect(await whet('worker', '--queues', 'gpu')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Allowed: orchestration, llm, sandbox, jobs'),
    });
    expect(await whet('frobnicate')).toMatchObject({ code: 2 });
    const json = await whet('validate', 'no-such.yaml', '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({ error: { type: 'Spec.Invalid' } });
  });

  test('a server that is not there is a sentence and exits with 1', async () => {
    const ls = await whetWith({ TEMPORAL_ADDRESS: '127.0.0.1:1' }, 'ls');
    expect(ls).toMatchObject({ code: 1, stderr: expect.stringContaining('No Temporal server answers at 127.0.0.1:1') });
  });
});
