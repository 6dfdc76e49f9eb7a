// tier: integration (real environment runtime, fake model server and analyst)
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { collectTrajectories } from '../../../activities/collect';
import { compareArms } from '../../../activities/evaluate/compare-arms';
import { rollOutArm } from '../../../activities/evaluate/roll-out-arm';
import { routeTasks } from '../../../activities/evaluate/route-tasks';
import { renderReport } from '../../../activities/report';
import { reportText } from '../../../cli/view/report-text';
import { evaluationSchema } from '../../../contracts/artifacts/evaluation';
import { consensusLabelSchema, identificationSchema } from '../../../contracts/artifacts/identification';
import { preparedSpecSchema } from '../../../contracts/artifacts/prepared-spec';
import { reportSchema } from '../../../contracts/artifacts/report';
import { recordOfReport } from '../../../contracts/artifacts/run-record';
import { trajectorySchema } from '../../../contracts/artifacts/trajectory';
import { getJson, getLines, layout, putJson } from '../../../store';
import { startFakeAnalyst } from '../../fakes/analyst-endpoint';
import { failingEnvironment } from '../../fakes/failing-environment';
import { FakePolicyServer, parcelPolicy } from '../../fakes/policy-server';
import { SKILLS, syntheticAnswer } from '../../fakes/synthetic-episodes';
import { logitsRouter } from '../evaluate/logits-router';
import { samplePlan, sampleRouterChoice } from '../evaluate/sample-evaluation';
import { storedAdapter } from '../evaluate/stored-adapter';
import { IdentifyWorld } from '../identify/identify-world';
import { RunFixture } from '../run-fixture';
import { sampleRun } from './sample-run';

test('one episode in ten fails: no figure of a run has it, and each says how many failed and why', async () => {
  const fixture = new RunFixture();
  const { store } = fixture;
  const play = parcelPolicy((model) => (model === 'base' ? 0.4 : 0.9));
  const server = await new FakePolicyServer((request) =>
    request.structured_outputs ? { content: 'A', labels: { A: 0.9, B: 0.1 } } : play(request),
  ).start();
  const analyst = await startFakeAnalyst((request) =>
    request.body.response_format?.json_schema.name === 'label'
      ? { content: JSON.stringify({ reason: 'because', step: null, label: 'NA' }) }
      : syntheticAnswer(request),
  );
  const failing = failingEnvironment(fixture.deps.openEnvironment, ({ seed, trial }) =>
    trial !== null && (seed * 2 + trial) % 10 === 3
      ? { at: 'evaluate', cause: trial === 1 ? 'judge' : 'simulator' }
      : null,
  );
  const deps = { ...fixture.deps, openEnvironment: failing.open };
  try {
    const frozen = await fixture.prepare(server.baseUrl, {
      collect: { trials: 2, concurrency: 8 },
      identify: { minEachOutcome: 3, chunkCalls: 70, maxCandidates: 7, runs: 1 },
      analyst: { maxReasks: 1, concurrency: 8 },
      evaluation: { trials: 2, concurrency: 8, bootstrapSamples: 1000 },
    });
    const prepared = await getJson(store, frozen.spec, preparedSpecSchema);
    prepared.analyst = { baseUrl: analyst.url, model: 'm-1', displayName: 'fake' };
    const context = { ...frozen, spec: await putJson(store, layout.run('run-1'), 'spec.json', prepared) };

    const collected = await fixture.run(collectTrajectories.bind(null, deps), context);
    expect(collected).toMatchObject({ episodes: 40, failed: { judge: 4 } });

    // Identification sees none of them.
    const world = new IdentifyWorld(analyst.url, {}, undefined, undefined, fixture);
    const { result } = await world.identify({ context, collected });
    const played = new Set((await getLines(store, collected.trajectories, trajectorySchema)).map(({ id }) => id));
    const labels = await getLines(store, result.labels, consensusLabelSchema);
    expect(labels).toHaveLength(36 * SKILLS.length);
    expect(labels.every(({ trajectoryId }) => played.has(trajectoryId))).toBe(true);
    const identification = await getJson(store, result.identification, identificationSchema);
    expect(identification.calls.label).toBe(36 * SKILLS.length);
    expect(identification.contrasts.map(({ runs }) => runs[0]!.counts.failures)).toEqual(
      SKILLS.map(() => collected.failures),
    );

    // Evaluation pairs the rest by task.
    const manifest = await putJson(store, 'runs/run-1/training', 'manifest.json', {
      ...{ jobId: 'x', jobSha256: 'a'.repeat(64), baseModelSha256: '0'.repeat(64), trainerVersion: '0' },
      ...{ adapterSha256: 'a'.repeat(64), adapterDir: 'x', iterations: 1, rollouts: 1, completionTokens: 1 },
      ...{ seconds: { total: 1, generation: 1, update: 0, startup: 0 }, finalReward: 0.9, environmentSha256: [] },
      curve: [{ iteration: 1, reward: 0.9, kl: 0, loss: 0 }],
    });
    const adapters = [{ ...(await storedAdapter(fixture, 'heavy')), manifest }];
    const capabilities = [{ id: 'heavy', name: 'Heavy', summary: 'heavy parcels' }];
    const router = await logitsRouter(store, capabilities);
    const { routing } = await fixture.run(routeTasks.bind(null, deps), {
      context,
      capabilities,
      router,
      name: 'routing',
    });
    const arm = (name: string, kind: 'base' | 'adapter' | 'routed') =>
      fixture.run(rollOutArm.bind(null, deps), {
        ...{ context, arm: name, kind, routing: kind === 'routed' ? routing : null },
        adapters: kind === 'base' ? [] : adapters,
      });
    const arms = [await arm('base', 'base'), await arm(adapters[0]!.name, 'adapter'), await arm('routed', 'routed')];
    for (const { rollouts } of arms) expect(rollouts).toMatchObject({ episodes: 20, failed: { judge: 2 } });
    const folder = layout.evaluation('run-1');
    const comparison = await compareArms(store, {
      ...{ context, arms, capabilities, adapters, routing, router },
      routerChoice: await putJson(store, folder, 'router-choice.json', {
        ...sampleRouterChoice(),
        failed: { judge: 3 },
      }),
      plan: await putJson(store, folder, 'evaluation-plan.json', samplePlan({ tasks: 10, trials: 2 })),
    });
    const evaluation = await getJson(store, comparison.evaluation, evaluationSchema);
    expect(evaluation).toMatchObject({ tasks: 10, trials: 2, base: { episodes: 18, failed: { judge: 2 } } });
    // A task with one result and one failed trial has the rate of the result.
    const base = await getLines(store, arms[0]!.rollouts.trajectories, trajectorySchema);
    const rates = [...Map.groupBy(base, ({ task }) => task.seed).values()].map(
      (trials) => trials.filter(({ success }) => success).length / trials.length,
    );
    expect(evaluation.base.passRate.estimate).toBeCloseTo(rates.reduce((a, b) => a + b, 0) / 10, 10);

    // The report shows the counts beside the rates, and so do its text and the history.
    const sample = await sampleRun(store);
    const identified = { ...sample.identified, identification: result.identification, labels: result.labels };
    const input = { ...sample, collected, identified, arms, comparison, routing };
    const { directory } = await renderReport(store, input, { scheduledAtMs: 0, mayAskAnalyst: false });
    const report = reportSchema.parse(JSON.parse(readFileSync(join(directory, 'report.json'), 'utf8')));
    expect(report.collect).toMatchObject({ episodes: 40, failures: collected.failures, failed: { judge: 4 } });
    expect(report.artifacts.filter(({ role }) => /failed/.test(role)).map(({ role }) => role)).toEqual([
      'failed episodes of the base agent on train tasks',
      ...['base', adapters[0]!.name, 'routed'].map((name) => `failed held-out episodes of ${name}`),
    ]);
    const page = readFileSync(join(directory, 'report.html'), 'utf8');
    expect(page.replace(/\s+/g, ' ')).toContain('; without a result 4 failed (4 judge)');
    expect(page.replace(/\s+/g, ' ')).toMatch(
      /Without a result 4 failed \(4 judge\), in tasks such as \d+(?:, \d+){2}: these rollouts were not labelled/,
    );
    expect(page.match(/; 2 failed \(2 judge\)/g)!.length).toBeGreaterThanOrEqual(3);
    expect(page).toContain('where their decisions differ; without a result 3 failed (3 judge).');
    const text = reportText(report);
    expect(text).toMatch(
      /^collected rollouts without a result: 4 failed \(4 judge\), in tasks such as \d+(?:, \d+){2}$/m,
    );
    expect(text).toMatch(/^routed .* 2 failed \(2 judge\)$/m);
    expect(text).toContain('base 2 failed (2 judge); ');
    expect(recordOfReport(report).figures!.failed).toEqual({ judge: 4 + 3 * 2 });
  } finally {
    await Promise.all([server.stop(), analyst.close()]);
    await fixture.dispose();
  }
});
