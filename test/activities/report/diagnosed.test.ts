// Tier: unit (store in a temporary folder).
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { renderReport } from '../../../activities/report';
import { reportText } from '../../../cli/view/report-text';
import { reportSchema } from '../../../contracts/artifacts/report';
import { runRecordSchema } from '../../../contracts/artifacts/run-record';
import { ENDED_AFTER_IDENTIFY } from '../../../contracts/names';
import { getJson, layout, LocalStore } from '../../../store';
import { sampleRunWithoutAdapters } from './sample-run';

const folder = mkdtempSync(join(tmpdir(), 'whet-diagnosed-'));
const store = new LocalStore(folder);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a run that ended after identification is diagnosed: page, text and history say what was found', async () => {
  const input = { ...(await sampleRunWithoutAdapters(store)), verdict: 'diagnosed' as const };
  const { json, directory } = await renderReport(store, input, { scheduledAtMs: 0, mayAskAnalyst: false });
  const report = await getJson(store, json, reportSchema);
  expect(report).toMatchObject({ verdict: 'diagnosed', evaluation: null, gate: null, sharpened: [] });

  const page = readFileSync(join(directory, 'report.html'), 'utf8');
  expect(page).toContain('<span class="verdict good">Diagnosed</span>');
  expect(page).toMatch(/<h1>orders-desk was diagnosed: 4 capabilities \((\w[^,]*, ){3}\w[^,]*\) found lacking<\/h1>/);
  expect(page).not.toContain('id="environments"');
  expect(page).toContain('so nothing was trained, evaluated or promoted');
  expect(page).not.toContain('Nothing was evaluated');

  const text = reportText(report);
  expect(text).toMatch(/capabilities found lacking: \S+[^]*\nverdict: diagnosed\n/);
  expect(text).toContain(ENDED_AFTER_IDENTIFY);

  const history = layout.history(report.agent);
  const [name] = await store.list(history);
  const record = runRecordSchema.parse(JSON.parse(String(await store.getNamed(`${history}/${name}`))));
  expect(record).toMatchObject({ outcome: 'diagnosed', reasons: [ENDED_AFTER_IDENTIFY] });
});
