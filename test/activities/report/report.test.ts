// tier: integration
import { renderReport } from '../../../activities/report';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { evaluationSchema } from '../../../contracts/artifacts/evaluation';
import { identificationSchema } from '../../../contracts/artifacts/identification';
import { type Report, reportSchema } from '../../../contracts/artifacts/report';
import { getJson, layout, LocalStore, putJson } from '../../../store';
import { sampleRun, sampleRunWithoutAdapters } from './sample-run';

const TIME = { scheduledAtMs: Date.parse('2026-11-21T03:10:00Z'), mayAskAnalyst: false };
const HOSTILE = `</svg><script>alert(1)</script>" onload="x()' <img src=//evil.example/x.png>`;
const VOID = new Set(['meta']);

/** Sentences for tags that do not nest. */
function nestingErrors(html: string): string[] {
  const open: string[] = [];
  const errors: string[] = [];
  for (const [, closing, name, rest] of html
    .replace(/<style>[^]*?<\/style>/, '')
    .matchAll(/<(\/?)([a-z][a-z0-9]*)((?:[^>"]|"[^"]*")*)>/gi)) {
    if (closing) {
      const last = open.pop();
      if (last !== name) errors.push(`</${name}> closes <${last}>`);
    } else if (!rest!.endsWith('/') && !VOID.has(name!)) open.push(name!);
  }
  return [...errors, ...open.map((name) => `<${name}> stays open`)];
}

describe('renderReport', () => {
  let root: string;
  let store: LocalStore;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'whet-report-'));
    store = new LocalStore(root);
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  async function render(input: Awaited<ReturnType<typeof sampleRun>>): Promise<{
    page: string;
    report: Report;
    directory: string;
    result: Awaited<ReturnType<typeof renderReport>>;
  }> {
    const result = await renderReport(store, input, TIME);
    const read = (name: string) => readFileSync(join(result.directory, name), 'utf8');
    return {
      page: read('report.html'),
      report: reportSchema.parse(JSON.parse(read('report.json'))),
      directory: result.directory,
      result,
    };
  }

  it('writes copies equal to the artifacts, and the same ones when it is repeated', async () => {
    const input = await sampleRun(store);
    const first = await render(input);
    expect((await store.get(first.result.html)).toString()).toBe(first.page);
    expect(JSON.parse((await store.get(first.result.json)).toString())).toEqual(first.report);
    expect((await render(input)).result).toEqual(first.result);
  });

  it('says of how many rollouts the tokens are kept, and why no training may use the others', async () => {
    const input = await sampleRun(store);
    expect((await render(input)).page).not.toContain('<dt>Tokens</dt>');
    const artifact = input.collected.trajectories;
    const kept = await render({
      ...input,
      collected: { ...input.collected, tokens: { artifact, episodes: 598, lacking: 2 } },
    });
    expect(kept.page).toContain('kept of 598 rollouts; 2 rollouts cannot be trained on, since tokens are missing');
    expect(kept.report.artifacts.map(({ role }) => role)).toContain('tokens of the base agent on train tasks');
    const refused = { episodes: 0, lacking: 600, refusal: `It takes no <b>ids</b>. ${HOSTILE}` };
    const { page, report } = await render({ ...input, collected: { ...input.collected, tokens: refused } });
    expect(page).toContain('600 rollouts cannot be trained on');
    expect(page).toContain('It takes no &lt;b&gt;ids&lt;/b&gt;.');
    expect(page).not.toContain('<script>alert');
    expect(report.collect.tokens).toEqual(refused);
  });

  it('carries the fields that others rely on', async () => {
    const { report } = await render(await sampleRun(store));
    expect(report.evaluation!.routedMinusBase.low).toBeGreaterThan(0);
    for (const arm of ['base', 'bestSingle', 'routed', 'oracle', 'mixed'] as const)
      expect(report.evaluation![arm]!.passRate.low).toBeLessThan(report.evaluation![arm]!.passRate.high);
    expect(report.identification.planted!.found).toHaveLength(3);
    expect(report.stages.map((stage) => stage.name)).toEqual(['collect', 'identify', 'sharpen', 'evaluate', 'promote']);
    expect(report.sharpened.map((s) => s.attempts.length)).toEqual([1, 2, 2, 1]);
    expect(report.sharpened[0]!.adapter!.curve).toHaveLength(40);
    expect(report.gate!.passed).toBe(true);
    const sharpening = report.tokens.filter((use) => use.stage === 'sharpen');
    expect(sharpening.find((use) => use.model === 'demo-analyst')).toMatchObject({
      promptTokens: 36_000,
      completionTokens: 20_800,
    });
    expect(sharpening.find((use) => use.model.startsWith('mixed@'))!.completionTokens).toBe(160 * 16 * 38);
  });

  it('says what the analyst was used for: cached tokens, what was shortened and what was replaced', async () => {
    const input = await sampleRun(store);
    const use = {
      calls: 700,
      asks: 712,
      tries: 730,
      promptTokens: 1_000_000,
      cachedTokens: 800_000,
      completionTokens: 50_000,
      unanswered: 3,
      shortened: 14,
    };
    await store.swapDocument(
      layout.analystUse(input.context.runId),
      { uses: { label: { ...use, redacted: { email: 20, phone: 2 } } }, counted: {} },
      null,
    );
    const { page, report } = await render(input);
    expect(report.analystUse).toMatchObject({ calls: { label: use }, usd: null, budget: {} });
    expect(nestingErrors(page)).toEqual([]);
    const text = page.replace(/\u202f/g, ' ');
    expect(text).toContain('80.0 % of the tokens sent came from the');
    expect(text).toContain('14 calls saw an episode shortened to fit, old tool results first.');
    expect(text).toContain('22 places in the prompts were replaced before they left.');
  });

  it('says what simulated users and judges spent, by stage, and how many episodes did not say it', async () => {
    const input = await sampleRun(store);
    const stages = {
      collect: { episodes: 400, unknown: 0, promptTokens: 4_000_000, completionTokens: 100_000 },
      evaluate: { episodes: 100, unknown: 25, promptTokens: 750_000, completionTokens: 20_000 },
    };
    const key = layout.environmentUse(input.context.runId);
    await store.swapDocument(key, { uses: stages, counted: {} }, null);
    const { page, report } = await render(input);
    expect(report.environmentUse).toEqual({ stages, usd: null, budget: {} });
    const text = page.replace(/\u202f/g, ' ').replace(/\s+/g, ' ');
    expect(text).toContain('25 of 500 episodes did not say what they spent');
    expect(text).toContain('4,000,000');
  });

  it('is silent about simulated users where no episode speaks of one', async () => {
    const input = await sampleRun(store);
    const stages = { collect: { episodes: 400, unknown: 400, promptTokens: 0, completionTokens: 0 } };
    await store.swapDocument(layout.environmentUse(input.context.runId), { uses: stages, counted: {} }, null);
    expect((await render(input)).report.environmentUse).toBeUndefined();
  });

  it('shows each certificate: checks with verdict, figures, thresholds and sentence; estimate of transfer', async () => {
    const { page, report } = await render(await sampleRun(store));
    const text = page.replace(/\u202f/g, ' ');
    expect(text).toContain('attempt 1: Certified: 2 checks passed.');
    expect(text).toContain('Not certified: solvable failed.');
    expect(text).toMatch(/tasks that differed 0 \(at most 0\)/);
    expect(text).toMatch(/mean reward 0\.\d\d \(0\.20 to 0\.60\)/);
    expect(text).toContain('Transfer, before training: What is hard here is hard there.');
    expect(report.sharpened[0]!.attempts[0]!.certificate).toMatchObject({
      certified: true,
      calibrated: { group: 'calibrated' },
      transfer: { tasks: 120 },
    });
    expect(report.artifacts.some(({ role }) => role.startsWith('certificate for'))).toBe(true);
  });

  it('is one well-formed page that needs nothing from elsewhere', async () => {
    const { page } = await render(await sampleRun(store));
    expect(nestingErrors(page)).toEqual([]);
    expect(page).not.toMatch(/<script|<link|<iframe|@import|url\(|\ssrc=|https?:\/\//);
    expect(page).toContain("default-src 'none'");
    expect(page).not.toMatch(/NaN|undefined|Infinity|\[object/);
  });

  it('draws every figure in both layouts with a description, and links it to its artifacts and hashes', async () => {
    const { page } = await render(await sampleRun(store));
    const figures = [...page.matchAll(/<figure id="([^"]+)">([^]*?)<\/figure>/g)];
    expect(figures.map((f) => f[1])).toEqual([
      'arms',
      'gap-coverage',
      'calibration',
      'learning-curves',
      'learning-curve-mixed',
      'probes',
      'kinds',
      'router',
      'reliability',
      'time',
      'tokens',
    ]);
    for (const [, id, body] of figures) {
      expect(body!.match(/<svg [^>]*role="img" aria-label="[^"]{20,}"/g)!.length).toBeGreaterThanOrEqual(
        id === 'calibration' ? 5 : 2,
      );
      expect(body).toMatch(/<code class="hash" title="sha256 [0-9a-f]{64}">/);
    }
  });

  it('says what the mixed adapter gets of a router, what the router may lose, and what its rollouts bought', async () => {
    const input = await sampleRun(store);
    const evaluation = await getJson(store, input.comparison!.evaluation, evaluationSchema);
    const { choice } = evaluation.router;
    const step = { kind: 'labels' as const, tasks: 120, standardError: 0.04, oracleGain: 0.5 };
    evaluation.router.choice = {
      ...choice,
      adapters: choice.adapters.map((adapter, i) =>
        i === 0 ? { ...adapter, tasks: 3, reason: 'alone' as const, alone: { tasks: 64, gain: -0.3 } } : adapter,
      ),
      severalNeeds: { tasks: 9, gain: 0.5, standardError: 0.1, adopted: true },
      harm: {
        ...{ tasks: 60, given: 0.7, loss: -0.1, bound: 0.124, boundOverall: 0.087 },
        ...{ margin: 0.1, above: true, bought: 24 },
      },
      spending: [
        { ...step, step: 'first-round', rollouts: 150, gain: 0.3 },
        { ...step, step: 'mixed', rollouts: 500, gain: 0.45 },
      ],
    };
    input.comparison!.evaluation = await putJson(store, 'runs/several', 'evaluation.json', evaluation);
    const { page, report } = await render(input);
    const text = page.replace(/\s+/g, ' ');
    expect(text).toContain('the mixed adapter is +50.0 against the router there');
    expect(text).toContain('so it gets such openings.');
    expect(text).toContain('−2.0 against base, and −30.0 on all 64 that it was played on.');
    expect(text).toContain(
      'Where it uses adapters it is +10.0 against base on 60 played tasks and may lose at most 12.4 points there ' +
        '(one-sided 95 % bound), above the margin of 10.0 points: harm cannot be excluded',
    );
    expect(text).toContain('24 rollouts more went to adapters that were above it.');
    const [, body] = /<figure id="router-spending">([^]*?)<\/figure>/.exec(page)!;
    expect(
      body!.match(/Gain over base of the best kind and of the oracle against rollouts: [^<]*best kind [^<]*, oracle /g),
    ).toHaveLength(2);
    expect(body!.replace(/\u202f/g, ' ')).toContain('has 90 % of the oracle');
    expect(nestingErrors(page)).toEqual([]);
    expect(page).not.toMatch(/NaN|undefined|Infinity|\[object/);
    expect(report.mixed).not.toBeNull();
  });

  it('shows what a router with the mixed adapter among its arms gives to it', async () => {
    const input = await sampleRun(store);
    const evaluation = await getJson(store, input.comparison!.evaluation, evaluationSchema);
    const [cell, ...others] = evaluation.router.confusion;
    const { choice } = evaluation.router;
    evaluation.router.confusion = [{ ...cell!, chosen: 'mixed', tasks: 17 }, ...others];
    evaluation.router.choice = { ...choice, chosen: 'outcomes-mixed', comparedMixed: 56 };
    input.comparison!.evaluation = await putJson(store, 'runs/arm', 'evaluation.json', evaluation);
    const { page } = await render(input);
    const text = page.replace(/\s+/g, ' ');
    expect(text).toContain('The router outcomes-mixed was chosen: the simplest within one standard error of the best.');
    expect(text).toContain('The mixed adapter alone was compared with the best router on 56 tasks.');
    const [, figure] = /<figure id="router">([^]*?)<\/figure>/.exec(page)!;
    expect(figure).toContain('17 to adapter of all environments mixed');
    expect(figure).toContain('The mixed adapter counts as wrong, however well it does.');
    expect(nestingErrors(page)).toEqual([]);
    const { page: without } = await render(await sampleRun(store));
    expect(without).not.toContain('adapter of all environments mixed');
  });

  it('shows the probes of each training, why one was stopped, and which had none', async () => {
    const { page, report } = await render(await sampleRun(store));
    const figure = /<figure id="probes">([^]*?)<\/figure>/.exec(page)![1]!;
    const text = figure.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');
    const [, harmed] = report.sharpened;
    expect(text).toContain(
      `${harmed!.capability.name}: ended at iteration 20: tasks that do not need it lost 42 points ` +
        '(10 of 12 passed before, 5 now); kept iteration 10.',
    );
    expect(text).toMatch(/\d+ rollouts in [^,]+, \d+\s%\sof those of the trainings, in which they are not counted/);
    expect(figure.match(/class="curve /g)).toHaveLength(2 + 2 * report.sharpened.length);
    expect(page).toContain('Trained without probes, or not with all of them:');
    expect(page).toContain('<li>environments mixed: its environment needs the network</li>');
    expect(report.tokens).toContainEqual({
      ...{ stage: 'sharpen', model: `${harmed!.adapter!.name}, probes` },
      ...{ promptTokens: 0, completionTokens: 1_600 },
    });
  });

  it('links only to files that are there', async () => {
    const { page, directory, report } = await render(await sampleRun(store));
    const hrefs = [...new Set([...page.matchAll(/href="([^"]+)"/g)].map((m) => decodeURIComponent(m[1]!)))].filter(
      (href) => !href.includes('/adapters/'),
    );
    expect(hrefs.length).toBeGreaterThan(30);
    expect(hrefs.filter((href) => !existsSync(resolve(directory, href)))).toEqual([]);
    expect(report.artifacts.filter(({ ref }) => !page.includes(ref.sha256))).toEqual([]);
    expect(dirname(directory).startsWith(root)).toBe(true);
  });

  it('marks rejected attempts and says why', async () => {
    const { page } = await render(await sampleRun(store));
    expect(page.match(/<section class="panel rejected">/g)).toHaveLength(2);
    expect(page).toContain('too easy');
    expect(page).toContain('The reference solution of seed 7 earns 0.00 instead of 1.00.');
  });

  it('says openly what was planted, who the analyst was and what the statistics cannot say', async () => {
    const { report, page } = await render(await sampleRun(store));
    const notes = report.notes.join('\n');
    for (const part of [
      'planted on purpose',
      'demo analyst (rule-based)',
      'BCa bootstrap',
      'lower bound',
      'trials that took no part in selecting',
    ])
      expect(notes).toContain(part);
    expect(page).toContain('missed: append-postal-code');
    expect(page).not.toContain('role="alert"');
  });

  it.each([
    ['recorded answers of a large language model', 'Its answers were written once by a large language model and are'],
    ['recorded answers', 'Its answers were prepared before the run, by a person or a model, and are played back'],
  ])('says who wrote %s', async (words, sentence) => {
    const analyst = `demo analyst (${words}, labels by rules with 5 % noise)`;
    const { report } = await render(await sampleRun(store, { analyst }));
    expect(report.notes.join('\n')).toContain(sentence);
  });

  it('puts an unsafe sandbox above everything else', async () => {
    const { page, report } = await render(
      await sampleRun(store, { sandbox: { mode: 'unsafe', detail: 'WHET_SANDBOX=unsafe was set' } }),
    );
    expect(report.notes[0]).toMatch(/^Unsafe sandbox: .*WHET_SANDBOX=unsafe was set\.$/);
    expect(page.indexOf('role="alert"')).toBeLessThan(page.indexOf('<h1>'));
  });

  it('shows text of the analyst as text', async () => {
    const { page } = await render(await sampleRun(store, { hostile: HOSTILE }));
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(page).not.toMatch(/<script|<img/);
    expect(nestingErrors(page)).toEqual([]);
  });

  it('reports a run in which nothing was trained', async () => {
    const { page, report } = await render(await sampleRunWithoutAdapters(store));
    expect(report.evaluation).toBeNull();
    expect(report.gate).toBeNull();
    expect(page).toContain('Nothing was evaluated');
    expect(nestingErrors(page)).toEqual([]);
    expect([...page.matchAll(/<figure id="([^"]+)">/g)].map((m) => m[1])).toEqual(['gap-coverage', 'time', 'tokens']);
  });

  it.each([
    [0.25, 'could not be found; of the episodes that lack none of the candidates, 25 % fail.'],
    [null, 'could not be found.'],
  ])('says which share fails of the episodes that lack no candidate: %s', async (otherRisk, words) => {
    const input = await sampleRun(store);
    const before = await getJson(store, input.identified.identification, identificationSchema);
    const power = { tasks: 12, otherRisk, rarestNeed: null };
    const identification = await putJson(store, layout.capabilities('other'), 'i.json', { ...before, power });
    const { page } = await render({ ...input, identified: { ...input.identified, identification } });
    expect(page.replace(/\s+/g, ' ')).toContain(`With 12 tasks, a rare need ${words} </p>`);
  });

  it('shows what experiments found, and why there was none', async () => {
    const input = await sampleRun(store);
    const before = await getJson(store, input.identified.identification, identificationSchema);
    const [first, second, ...others] = before.contrasts;
    const experiment = {
      ...{ step: 'forced' as const, tools: ['check'], held: ['look'], tasks: 11, pairs: 16, intervened: 15 },
      ...{ passedWith: 14, passedWithout: 1, better: 13, worse: 0, finding: 'effect' as const },
    };
    const identification = await putJson(store, layout.capabilities('other'), 'i.json', {
      ...before,
      contrasts: [
        { ...first!, partial: { ...first!.partial, experiment } },
        { ...second!, partial: { ...second!.partial, noExperiment: 'no <b>tool</b> tells it' } },
        ...others,
      ],
      experiments: { rollouts: 48, budget: 200, seconds: 61 },
    });
    const { page } = await render({
      ...input,
      identified: { ...input.identified, identification, experiments: identification },
    });
    expect(nestingErrors(page)).toEqual([]);
    const text = page.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');
    expect(text).toMatch(/48 rollouts in 1.min 01.s, at most 200 \( identify.experimentRollouts \)/);
    expect(text).toContain('check forced look 11 15 of 16 14 of 16 1 of 16 an effect');
    expect(page).toContain('No experiment: no &lt;b&gt;tool&lt;/b&gt; tells it.');
    // One more way to be kept by chance.
    expect(text).toContain('without an effect is kept is below 15 %');
    expect(text).toContain('experiments with steps of candidates');
  });

  it('fails when an artifact was changed', async () => {
    const input = await sampleRun(store);
    const { identification } = input.identified;
    rmSync(store.localPath(identification.key));
    await expect(render(input)).rejects.toThrow();
    await expect(
      render({
        ...input,
        identified: { ...input.identified, identification: { ...identification, key: input.identified.labels.key } },
      }),
    ).rejects.toMatchObject({ type: 'Store.Corrupt' });
  });
});
