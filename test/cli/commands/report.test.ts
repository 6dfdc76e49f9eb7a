// tier: integration
import { renderReport } from '../../../activities/report';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reportCommand } from '../../../cli/commands/report';
import { createOutput } from '../../../cli/output';
import { readSettings } from '../../../cli/settings';
import { freePort } from '../../../cli/supervisor/ports';
import { reportSchema } from '../../../contracts/artifacts/report';
import { LocalStore } from '../../../store';
import { sampleRun } from '../../activities/report/sample-run';

describe('`whet report` where no Temporal server answers', () => {
  const folder = mkdtempSync(join(tmpdir(), 'whet-report-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const said: string[] = [];
  let report: (runId: string) => Promise<void>;
  let runId: string;
  let directory: string;

  beforeAll(async () => {
    const settings = readSettings({ WHET_HOME: folder, TEMPORAL_ADDRESS: `127.0.0.1:${await freePort()}` });
    const out = createOutput(false, { write: (text: string) => said.push(text) > 0 });
    report = (id) => reportCommand({ settings, out }, id);
    const store = new LocalStore(settings.storeRoot);
    const input = await sampleRun(store);
    ({ runId } = input.context);
    ({ directory } = await renderReport(store, input, { scheduledAtMs: 0, mayAskAnalyst: false }));
  });
  beforeEach(() => void said.splice(0));

  test('it is read from the store, and it is said that this is all that is known', async () => {
    await report(runId);
    expect(said.join('')).toMatch(/^No Temporal server answers at .*\nThis is the report in the store.*\n/);
    expect(said.join('')).toContain('base');
    expect(said.join('')).toContain(`report: ${directory}/report.json`);
  });

  test('it says how many collected rollouts passed, and gap and coverage of each kept capability', async () => {
    await report(runId);
    const text = said.join('');
    const { collect, identification } = reportSchema.parse(
      JSON.parse(readFileSync(join(directory, 'report.json'), 'utf8')),
    );
    const judged = collect.successes + collect.failures;
    expect(text).toContain(
      `\ncollected rollouts that passed: ${collect.successes} of ${judged} (${(collect.successes / judged).toFixed(3)})\n`,
    );
    expect(identification.kept.length).toBeGreaterThan(0);
    for (const id of identification.kept) {
      const { gap, coverage } = identification.contrasts.find(({ capabilityId }) => capabilityId === id)!.intervals;
      const [first, second] = [gap!, coverage!].map(({ estimate, low, high }) => {
        const [at, from, to] = [estimate, low, high].map((value) => value.toFixed(3));
        return `${at} [${from}, ${to}]`;
      });
      expect(text).toContain(`\n  ${id}: gap ${first}, coverage ${second} (95 %)\n`);
    }
  });

  test('a run without one there is the failure of the server', async () => {
    await expect(report('run-none')).rejects.toMatchObject({ type: 'Temporal.Unreachable' });
    await expect(report('../../etc')).rejects.toMatchObject({ type: 'Temporal.Unreachable' });
  });

  test('a damaged one is said to be that', async () => {
    writeFileSync(join(directory, 'report.json'), '{');
    await expect(report(runId)).rejects.toThrow(/report\.json.*report\.html beside it/s);
  });

  test.each<[string, (path: string) => void]>([
    ['a pipe', (path) => void execFileSync('mkfifo', [path])],
    ['a device', (path) => symlinkSync('/dev/zero', path)],
    ['a file of 3 GB', (path) => (writeFileSync(path, ''), truncateSync(path, 3 * 2 ** 30))],
  ])('one that is %s is neither waited for nor read', async (_, make) => {
    const path = join(directory, 'report.json');
    rmSync(path);
    make(path);
    await expect(report(runId)).rejects.toMatchObject({
      type: 'Store.Corrupt',
      message: expect.stringMatching(/report\.json is (a pipe|larger).*report\.html beside it/s) as string,
    });
  });
});
