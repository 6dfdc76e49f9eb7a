// tier: e2e
import { join } from 'node:path';
import type { Report } from '../../contracts/artifacts/report';
import type { ImprovementRunResult } from '../../contracts/messages/run';
import { LocalStore, readRegistry } from '../../store';
import hashes from '../fixtures/recorded-environments.json';
import { ROOT, WhetHome } from './whet-home';

// A whole run takes minutes, and several times that where others work on the machine. The limit only ends a hang.
jest.setTimeout(1_800_000);

const { home, demo, dispose } = new WhetHome();
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
});
