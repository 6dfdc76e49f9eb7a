// tier: integration
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterDemo } from '../../../cli/commands/demo';
import { runCommandLine } from '../../../cli/run-command-line';
import { writeSmallAgent } from '../small-agent';

test('a demo without any analyst is refused before its model is made', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'whet-demo-'));
  const before = { ...process.env };
  const home = join(folder, 'home');
  let said = '';
  try {
    for (const name of ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'TEMPORAL_ADDRESS']) delete process.env[name];
    process.env['WHET_HOME'] = home;
    const stderr = { write: (text: string) => Boolean((said += text)) };
    const code = await runCommandLine(['demo', writeSmallAgent(folder)], { stdout: process.stdout, stderr });
    expect([code, said]).toEqual([
      2,
      expect.stringMatching(/There is no analyst: .*OPENAI_API_KEY.*Nothing was started/),
    ]);
    expect(existsSync(join(home, 'supervisor.json'))).toBe(false);
  } finally {
    process.env = before;
    rmSync(folder, { recursive: true });
  }
});

test('a demo ends with an address of the report that a browser opens, and three commands', () => {
  const lines = afterDemo('examples/desk/agent.yaml', '/home/some one/store/runs/r/report');
  expect(lines[0]).toBe('open   file:///home/some%20one/store/runs/r/report/report.html');
  expect(lines.filter((line) => line.startsWith('  ./whet'))).toHaveLength(3);
});
