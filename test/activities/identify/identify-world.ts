import { CLAIM_TIMING, type ClaimTiming } from '../../../activities/analyst/claim';
import { createIdentifyActivities } from '../../../activities/identify';
import type { SolutionPlayer } from '../../../activities/target-profile/play-solutions';
import { preparedSpecSchema } from '../../../contracts/artifacts/prepared-spec';
import type { Trajectory } from '../../../contracts/artifacts/trajectory';
import type { AgentSpecInput } from '../../../contracts/config/agent-spec';
import type {
  IdentifyInput,
  LabelChunkResult,
  LabelChunksInput,
  LabelPlan,
  TallyResult,
} from '../../../contracts/messages/identify-stage';
import type { RunContext } from '../../../contracts/messages/run-context';
import { createAnalyst, type AnalystFactory } from '../../../llm';
import { getJson, layout, putJson, putLines, type ArtifactStore } from '../../../store';
import { syntheticEpisode } from '../../fakes/synthetic-episodes';
import { RunFixture } from '../run-fixture';

export const NOTHING: LabelChunkResult = {
  asked: 0,
  reused: 0,
  unlabelled: 0,
  promptTokens: 0,
  completionTokens: 0,
  cachedTokens: 0,
};

const impatient: AnalystFactory = ({ spec, analyst }) =>
  createAnalyst({
    baseUrl: analyst.baseUrl,
    apiKey: 'x',
    model: analyst.model,
    concurrency: spec.analyst.concurrency,
    maxReasks: spec.analyst.maxReasks,
    timeoutMs: 60_000,
    firstWaitMs: 1,
    maxTries: 2,
  });

/** Synthetic trajectories in a store, and the identify activities against an endpoint. */
export class IdentifyWorld {
  readonly activities: ReturnType<typeof createIdentifyActivities>;

  /**
   * `analyst` opens the analysts on the world's store; default: a bare client that gives up soon. Worlds with one
   * `fixture` are worker processes with one store.
   */
  constructor(
    private readonly url: string,
    private readonly spec: Partial<AgentSpecInput> = {},
    analyst: (store: ArtifactStore) => AnalystFactory = () => impatient,
    claimTiming: ClaimTiming = CLAIM_TIMING,
    readonly fixture = new RunFixture(),
    player: SolutionPlayer = { withoutTools: async () => null, messages: async () => null },
  ) {
    const { store } = fixture;
    this.activities = createIdentifyActivities({ store, analyst: analyst(store), player, claimTiming });
  }

  /** Input of the stage for a run over `episodes` synthetic trajectories. */
  input(episodes: number, runId = 'run-1', model = 'm-1'): Promise<IdentifyInput> {
    return this.inputOf(
      Array.from({ length: episodes }, (_, i) => syntheticEpisode(i)),
      runId,
      model,
    );
  }

  /** Input of the stage for a run over these trajectories. */
  async inputOf(trajectories: readonly Trajectory[], runId: string, model: string): Promise<IdentifyInput> {
    const context = await this.context(runId, model);
    const episodes = trajectories.length;
    const successes = trajectories.filter(({ success }) => success).length;
    const ref = await putLines(this.fixture.store, layout.trajectories(runId), 'base.jsonl', trajectories);
    return {
      context,
      collected: {
        trajectories: ref,
        episodes,
        successes,
        failures: episodes - successes,
        promptTokens: 0,
        completionTokens: 0,
        seconds: 0,
      },
    };
  }

  /** Discovery and plan. */
  async plan(input: IdentifyInput) {
    const discovery = await this.fixture.run(this.activities.discoverCandidates, input);
    const plan = await this.fixture.run(this.activities.planLabels, {
      ...input,
      candidates: discovery.candidates,
      run: 0,
    });
    const labelling = {
      context: input.context,
      plan,
      trajectories: input.collected.trajectories,
      candidates: discovery.candidates,
    };
    return { discovery, plan, labelling };
  }

  label(
    labelling: Omit<LabelChunksInput, 'cursor' | 'totals'>,
    chunk: number,
    environment = this.fixture.activity(),
  ): Promise<LabelChunkResult> {
    return this.fixture.run(this.activities.labelChunk, { ...labelling, chunk }, environment);
  }

  /** The whole stage, as the workflow runs it. */
  async identify(input: IdentifyInput) {
    const { context, collected } = input;
    const { trajectories } = collected;
    const discovery = await this.fixture.run(this.activities.discoverCandidates, input);
    const totals = { ...NOTHING };
    const plans: LabelPlan[] = [];
    const tallies: TallyResult[] = [];
    for (let run = 0, open = discovery.count > 0 ? discovery.candidates : null; open !== null; run++) {
      const plan = await this.fixture.run(this.activities.planLabels, {
        ...input,
        candidates: open,
        run: (input.independent?.firstRun ?? 0) + run,
      });
      plans.push(plan);
      const labelling = { context, plan, trajectories, candidates: open };
      for (let chunk = 0; chunk < plan.chunks; chunk++) {
        const result = await this.label(labelling, chunk);
        for (const name of Object.keys(totals) as (keyof LabelChunkResult)[]) totals[name] += result[name];
      }
      const previous = tallies.at(-1)?.tally ?? null;
      const tallied = await this.fixture.run(this.activities.tallyRun, {
        ...labelling,
        run,
        discovered: discovery.candidates,
        totals,
        previous,
      });
      tallies.push(tallied);
      open = tallied.open;
    }
    const tally = tallies.at(-1)?.tally ?? null;
    const { independent } = input;
    const result = await this.fixture.run(this.activities.contrastCapabilities, {
      context,
      trajectories,
      discovery,
      tally,
      totals,
      ...(independent && { independent }),
    });
    return { discovery, plan: plans[0], plans, tallies, totals, result };
  }

  private async context(runId: string, model: string): Promise<RunContext> {
    const context = await this.fixture.prepare(
      'http://127.0.0.1:1/v1',
      {
        ...this.spec,
        identify: { chunkCalls: 70, maxCandidates: 7, runs: 1, ...this.spec.identify },
        analyst: { maxReasks: 1, concurrency: 8, ...this.spec.analyst },
      },
      'parcel_desk.py',
      runId,
    );
    const prepared = await getJson(this.fixture.store, context.spec, preparedSpecSchema);
    prepared.analyst = { baseUrl: this.url, model, displayName: 'fake' };
    return { ...context, spec: await putJson(this.fixture.store, layout.run(runId), 'spec.json', prepared) };
  }
}
