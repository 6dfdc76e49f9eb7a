// tier: e2e
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Report, reportSchema } from '../../contracts/artifacts/report';
import { trajectorySchema } from '../../contracts/artifacts/trajectory';
import type { ImprovementRunResult } from '../../contracts/messages/run';
import { getLines, LocalStore, readRegistry } from '../../store';
import hashes from '../fixtures/recorded-environments.json';
import { ROOT, WhetHome } from './whet-home';

// A whole run takes minutes, and several times that where others work on the machine. The limit only ends a hang.
jest.setTimeout(1_800_000);

const { home, demo, whetWith, dispose } = new WhetHome();
const WORLD = join(ROOT, 'examples', 'worlds', 'venue-desk');

afterAll(dispose);

/** Another agent than the demo's; discovery and environments are answers of a large language model, played again. */
describe('a small run of a world', () => {
  let result: ImprovementRunResult;
  let report: Report;
  beforeAll(async () => void ({ result, report } = await demo(join(WORLD, 'agent.small.yaml'))));

  // Another processor rounds otherwise and makes another model, so not every planted deficit must be found and trained.
  test('finds planted deficits and nothing else', () => {
    expect(report.analyst).toContain('recorded answers of a large language model');
    expect(report.identification.planted).toMatchObject({ invented: [], decoysKept: [] });
  });

  test('certifies the environments that the model wrote, as they were recorded, and trains in them', () => {
    const recorded = Object.entries(hashes)
      .filter(([path]) => path.startsWith('examples/worlds/venue-desk/'))
      .map(([, sha256]) => sha256);
    const trained = report.sharpened.filter(({ status }) => status === 'trained');
    expect(trained.length).toBeGreaterThan(0);
    for (const { attempts } of trained) {
      expect(recorded).toContain(attempts.at(-1)!.source?.sha256);
      expect(attempts.at(-1)).toMatchObject({ validation: { passed: true }, calibration: { verdict: 'in-band' } });
    }
  });

  test('promotes a version with a gain on held-out tasks', async () => {
    expect(report.evaluation!.routedMinusBase.low).toBeGreaterThan(0);
    expect(result.verdict).toBe('promoted');
    const { active } = await readRegistry(new LocalStore(join(home, 'store')), report.agent);
    expect([active, result.promotedVersion]).toEqual([1, 1]);
  });

  test('its conversations alone, in a file of another format, lead to the same diagnosis', async () => {
    const { ref } = report.artifacts.find(({ role }) => role === 'trajectories of the base agent on train tasks')!;
    const own = await getLines(new LocalStore(join(home, 'store')), ref, trajectorySchema);
    const lines = own.map(({ task, trial, model, messages, success }) =>
      JSON.stringify({ id: `${task.seed}-${trial}`, model, messages, metadata: { success } }),
    );
    const file = join(home, 'exported.jsonl');
    writeFileSync(file, lines.join('\n'));
    // The key is of an analyst that was not asked for.
    const diagnose = () => whetWith({ OPENAI_API_KEY: 'key' }, 'diagnose', file, '--analyst', WORLD, '--json');
    const { code, stdout, stderr } = await diagnose();
    expect([code, stderr]).toEqual([0, '']);
    const { verdict, reportDirectory } = JSON.parse(stdout) as ImprovementRunResult;
    expect(verdict).toBe('diagnosed');
    const read = () => readFileSync(join(reportDirectory!, 'report.json'), 'utf8');
    const before = read();
    const { identification, collect } = reportSchema.parse(JSON.parse(before));
    expect(collect).toMatchObject({ ingested: own.length, successes: report.collect.successes });
    expect([...identification.kept].sort()).toEqual([...report.identification.kept].sort());
    for (const id of identification.kept) {
      const [here, there] = [identification, report.identification].map(({ contrasts }) =>
        contrasts.find(({ capabilityId }) => capabilityId === id)!,
      );
      // The mean over labelling runs rounds otherwise than the one run of the world.
      expect(here!.gap).toBeCloseTo(there!.gap!, 12);
      expect(here!.coverage).toBeCloseTo(there!.coverage, 12);
    }
    // The same command again shows the result, and starts nothing.
    const again = await diagnose();
    expect(JSON.parse(again.stdout)).toMatchObject({ verdict: 'diagnosed', reportDirectory });
    expect(read()).toBe(before);
  });
});
