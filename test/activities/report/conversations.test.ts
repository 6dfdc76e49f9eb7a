// Tier: unit (store in a temporary folder).
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { renderReport } from '../../../activities/report';
import { reportText } from '../../../cli/view/report-text';
import { identificationSchema } from '../../../contracts/artifacts/identification';
import { preparedSpecSchema } from '../../../contracts/artifacts/prepared-spec';
import { reportSchema } from '../../../contracts/artifacts/report';
import { CONVERSATIONS } from '../../../contracts/config/environment-kinds';
import { CONVERSATION_FACTS } from '../../../contracts/config/environment-kinds/facts';
import type { ReportInput } from '../../../contracts/messages/run';
import { getJson, layout, LocalStore, putJson } from '../../../store';
import { sampleRunWithoutAdapters } from './sample-run';

const folder = mkdtempSync(join(tmpdir(), 'whet-conversations-'));
const store = new LocalStore(folder);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PASSAGE = [
  { role: 'user', text: 'Where is order 7? <b>now</b>' },
  { role: 'assistant', text: 'cancel_order {"id":"7"}', isStep: true as const },
  { role: 'tool', text: '</ol><script>alert(1)</script>' },
];

/** The made-up run, as if conversations had been read in place of its rollouts. */
async function sample(withoutOutcome?: number, tasks = 600): Promise<ReportInput> {
  const run = await sampleRunWithoutAdapters(store);
  const prepared = await getJson(store, run.context.spec, preparedSpecSchema);
  const spec = { ...prepared.spec, environment: CONVERSATIONS, model: undefined, groundTruth: undefined };
  const read = preparedSpecSchema.parse({
    ...{ ...prepared, spec, facts: CONVERSATION_FACTS, modelBaseUrl: '', modelPath: null },
    ...{ sandbox: { mode: 'unused', detail: '' } },
    servedModel: { weightsSha256: null, root: null, maxModelLength: null },
  });
  const found = await getJson(store, run.identified.identification, identificationSchema);
  const evidence = found.evidence.map((one) => ({ ...one, passage: PASSAGE }));
  const power = { tasks, otherRisk: 0.1, rarestNeed: 0.05 };
  const { planted: _, ...identification } = { ...found, evidence, power };
  const { runId } = run.context;
  return {
    ...run,
    verdict: 'diagnosed',
    context: { ...run.context, spec: await putJson(store, layout.run(runId), 'spec.json', read) },
    collected: {
      ...{ ...run.collected, episodes: 600, successes: 323, failures: 277, promptTokens: 0, completionTokens: 0 },
      ...{ ingested: 590, live: 600, ...(withoutOutcome !== undefined && { withoutOutcome }) },
    },
    identified: {
      ...run.identified,
      identification: await putJson(store, layout.capabilities(runId), 'identification.json', identification),
    },
  };
}

const render = async (input: ReportInput) => {
  const { json, directory } = await renderReport(store, input, { scheduledAtMs: 0, mayAskAnalyst: false });
  const page = readFileSync(join(directory, 'report.html'), 'utf8');
  const words = page
    .replace(/<style>[^]*?<\/style>|<svg[^]*?<\/svg>|<[^>]+>/g, ' ')
    .replace(/\u2009/g, ' ')
    .replace(/\s+/g, ' ');
  return { report: await getJson(store, json, reportSchema), page, words };
};

test('the page says what fails and how often, what lacks, and what a remedy would gain at most', async () => {
  const { report, words } = await render(await sample(12));
  expect(words).toContain(
    '277 of 600 conversations failed (46.2 %). 12 further ones have no outcome and are left out.',
  );
  const [first] = report.identification.kept;
  const contrast = report.identification.contrasts.find(({ capabilityId }) => capabilityId === first)!;
  const { name } = report.identification.candidates.find(({ id }) => id === first)!;
  const most = ((contrast.coverage * 277) / 600) * 100;
  expect(words).toMatch(new RegExp(`${name} .*${(contrast.coverage * 100).toFixed(1)} %.* ${most.toFixed(1)} % `));
  expect(report.collect).toMatchObject({ ingested: 590, withoutOutcome: 12 });
});

test('nothing on the page is about a model, a jail, tasks that were played, or held-out tasks', async () => {
  const { page, words, report } = await render(await sample());
  expect(words).not.toMatch(/Base model|Sandbox|held.out|weights|rollout|train task|Trainers count|base agent/);
  expect(words).not.toMatch(/\btasks\b/);
  expect(page).not.toMatch(/<tbody>\s*<\/tbody>/);
  expect(report.tokens.map(({ stage }) => stage)).not.toContain('collect');
});

test('where a format keeps the tasks of conversations, their number is what rare needs depend on', async () => {
  expect((await render(await sample(0, 300))).words).toContain('With 300 tasks, a need of 5.0 % of the tasks');
  expect((await render(await sample(0, 600))).words).toContain('With 600 conversations, a need of');
});

test('a passage is shown as text, with the step marked', async () => {
  const { page } = await render(await sample());
  expect(page).toMatch(
    /<mark><span class="muted">assistant<\/span> cancel_order \{&quot;id&quot;:&quot;7&quot;\}<\/mark>/,
  );
  expect(page).toContain('Where is order 7? &lt;b&gt;now&lt;/b&gt;');
  expect(page).not.toContain('<script>');
});

test('what was ruled out stands apart from what more conversations would tell', async () => {
  const { page, words, report } = await render(await sample());
  const open = report.identification.contrasts.find(({ moreFailures }) => moreFailures !== null)!;
  const more = Math.round((open.moreFailures! * 600) / 277).toLocaleString('en-US');
  expect(page.indexOf('Looked at and ruled out')).toBeGreaterThan(0);
  expect(page.indexOf('Cannot be told yet')).toBeGreaterThan(page.indexOf('Looked at and ruled out'));
  expect(words).toContain(`About ${more} more conversations with as many failures among them would tell.`);
  const text = reportText(report);
  expect(text).toContain('conversations that succeeded: 323 of 600 (0.538)');
  expect(text).toContain(`cannot be told yet: ${open.capabilityId}, about ${more.replace(',', '')} more conversations`);
  expect(text).toMatch(/Nothing was played or trained\.$/);
});
