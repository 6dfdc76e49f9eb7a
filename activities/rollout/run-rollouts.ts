import { setMaxListeners } from 'node:events';
import { Context } from '@temporalio/activity';
import type { Trajectory } from '../../contracts/artifacts/trajectory';
import type { StageName } from '../../contracts/names';
import { failure } from '../../contracts/typed-failure';
import { SandboxError } from '../../sandbox';
import type { RolloutDeps } from './rollout-deps';
import { type EnvironmentSource, ownerFailure, ownerTaskFailure } from '../environment';
import { Progress } from '../progress';
import { RestartingEnvironment, isProcessFault } from './restarting-environment';
import { againIfKilled, isOutsideFault } from '../killed-environment';
import { abandonedEpisode, type EpisodePlan, type EpisodeSettings, runEpisode } from './episode';
import { systemClock } from '../clock';
import { inParallel } from '../in-parallel';
import type { RunModel } from '../endpoints/run-model';
import type { ModelFault } from './model-errors';
import { PolicyModel } from './policy-model';
import type { ServedAdapter } from './served-adapter';
import { type EpisodeFault, FinishedEpisodes } from './finished-episodes';

/** The set of rollouts to run. */
export interface RolloutOptions {
  plans: readonly EpisodePlan[];
  environment: EnvironmentSource;
  settings: EpisodeSettings;
  /** The model with which the run began; the server must still serve it. */
  model: RunModel;
  /** Adapters that `plans` name. */
  adapters: readonly ServedAdapter[];
  /** Largest number of parallel episodes. */
  concurrency: number;
  /** Key of the work file that a retry resumes from. Each set needs its own key. */
  workKey: string;
  stage: StageName;
  note?: string;
}

/** The results of a set of rollouts. Their trajectories are in the work file. */
export interface FinishedRollouts {
  /** Reads them from the work file, one by one, sorted by seed, then trial. */
  trajectories: () => AsyncIterable<Trajectory>;
  episodes: number;
  /** Wall-clock time, including attempts that did not finish. */
  seconds: number;
  /**
   * Faults of a synthesised environment, in the same order. A fault of the owner's environment fails the set instead.
   */
  faults: EpisodeFault[];
  /** Number of lines of earlier attempts that could not be read; their episodes were played again. */
  damagedLines: number;
}

/** The results of a set of rollouts, in memory. */
export interface RolloutResults extends Pick<FinishedRollouts, 'seconds' | 'faults'> {
  /** Sorted by seed, then trial. */
  trajectories: Trajectory[];
}

/** Loads the results of a small set into memory. */
export async function loadRollouts({ trajectories, seconds, faults }: FinishedRollouts): Promise<RolloutResults> {
  const loaded: Trajectory[] = [];
  for await (const trajectory of trajectories()) loaded.push(trajectory);
  return { trajectories: loaded, seconds, faults };
}

/** If more episodes than this end the environment's process, the set is given up. */
export const MAX_PROCESS_FAULTS = 5;

/** This is short, because Temporal delivers a cancellation in its answer to a heartbeat. */
const HEARTBEAT_MS = 500;

/** The rollouts of a synthesised environment were given up, because it hung or crashed too often. */
export class EnvironmentUnusable extends Error {
  /**
   * @param lost a sentence for each episode that ended its process.
   * @param finished the results so far.
   */
  constructor(
    lost: readonly string[],
    readonly finished: RolloutResults,
  ) {
    super(`The environment hung or died in ${lost.length} episodes. ${lost[0] ?? ''}`);
    this.name = 'EnvironmentUnusable';
  }
}

/**
 * Plays an episode for every plan, with heartbeats. Each finished one is written to the work file before it is counted,
 * so that a retry plays only the rest. Must run inside an activity.
 *
 * If the environment's process hangs or crashes, all its episodes are lost, and it is unknown which episode caused
 * this. They are played again one by one. An episode that causes it again ends as `environment-error` (synthesised
 * environment) or fails the set with `Environment.Failed` (owner's environment). Repeating is safe because an episode
 * is a function of its plan. If something outside kills an episode's process, the episode is played up to three times,
 * because that is nobody's fault.
 * @throws ApplicationFailure `Model.*`, `Environment.*`; EnvironmentUnusable; EnvironmentKilled (synthesised); the
 *   signal's reason.
 */
export async function runRollouts(deps: RolloutDeps, options: RolloutOptions): Promise<FinishedRollouts> {
  const { stage, note, plans } = options;
  const { cancellationSignal, heartbeat } = Context.current();
  using progress = new Progress({ stage, unit: 'rollouts', total: plans.length, everyMs: HEARTBEAT_MS, note });
  const work = await FinishedEpisodes.open(deps.store, options.workKey);
  progress.setDone(work.size);
  heartbeat(progress.snapshot());
  const restarting = new RestartingEnvironment(deps.openEnvironment, options.environment);
  const stop = new AbortController();
  const signal = AbortSignal.any([cancellationSignal, stop.signal]);
  // Every call in flight adds a listener, so that more than ten of them are no leak.
  setMaxListeners(0, signal);
  // A hanging environment must not delay a cancellation.
  signal.addEventListener('abort', () => void restarting.close(), { once: true });
  const startedAt = systemClock.now();
  const seconds = (): number => work.secondsBefore + (systemClock.now() - startedAt) / 1000;
  try {
    await new RolloutSet(deps, options, work, progress, restarting, signal, stop, seconds).run();
  } catch (error) {
    if (cancellationSignal.aborted) throw cancellationSignal.reason;
    if (!(error instanceof SandboxError) || options.environment.trust !== 'owner') throw error;
    throw ownerFailure(error);
  } finally {
    await Promise.all([restarting.close(), work.close()]);
  }
  return finishedRollouts(work, seconds());
}

const finishedRollouts = (work: FinishedEpisodes, seconds: number): FinishedRollouts => ({
  trajectories: () => work.trajectories(),
  episodes: work.size,
  seconds,
  faults: work.faults,
  damagedLines: work.damagedLines,
});

const episodeKey = ({ seed, trial }: { seed: number; trial: number }): string => `${seed}:${trial}`;

class RolloutSet {
  private readonly model: PolicyModel;
  private readonly isOwners: boolean;
  private runs = 0;
  private lastRefusal: ModelFault | null = null;

  constructor(
    deps: RolloutDeps,
    private readonly options: RolloutOptions,
    private readonly work: FinishedEpisodes,
    private readonly progress: Progress,
    private readonly restarting: RestartingEnvironment,
    private readonly signal: AbortSignal,
    private readonly stop: AbortController,
    private readonly seconds: () => number,
  ) {
    this.isOwners = options.environment.trust === 'owner';
    const { model, adapters } = options;
    this.model = new PolicyModel({
      client: deps.model,
      clock: systemClock,
      model,
      concurrency: options.concurrency,
      adapters,
      signal,
      onTrouble: (note) => progress.setNote(note),
    });
  }

  async run(): Promise<void> {
    const again = new Set([...this.tooLongToOpen(), ...this.refused()]);
    const pending = this.options.plans.filter((plan) => !this.work.has(plan) || again.has(episodeKey(plan)));
    if (pending.length === 0) return;
    if (again.size > 0) this.progress.setDone(this.work.size - again.size);
    await this.model.ensureAdapters();
    const suspects: EpisodePlan[] = [];
    await inParallel(pending, this.options.concurrency, { signal: this.signal, stop: this.stop }, async (plan) => {
      try {
        await this.runOne(plan);
      } catch (error) {
        if (!isProcessFault(error) || this.signal.aborted) throw error;
        suspects.push(plan);
      }
    });
    const lost: string[] = [];
    await inParallel(suspects, 1, { signal: this.signal, stop: this.stop }, async (plan) => {
      try {
        await againIfKilled(() => this.runOne(plan), this.signal);
      } catch (error) {
        if (!isProcessFault(error) || isOutsideFault(error) || this.signal.aborted) throw error;
        if (this.isOwners) throw this.ownersFault(error as SandboxError, plan);
        lost.push((error as SandboxError).message);
        if (lost.length > MAX_PROCESS_FAULTS)
          throw new EnvironmentUnusable(lost, await loadRollouts(finishedRollouts(this.work, this.seconds())));
        await this.keep(abandonedEpisode(plan), lost.at(-1)!);
      }
    });
    if (this.tooLongToOpen().size > 0) throw this.contextTooShort();
    if (this.refused().size > 0) throw this.refusesMost();
    if (this.lastRefusal !== null) Context.current().log.warn(`Rollouts end as refused. ${this.lastRefusal.message}`);
  }

  /**
   * Episodes of the agent's own tasks whose opening exceeds the model's context, if these are more than half. In that
   * case the context is wrong, not a task. Empty if there are fewer: then these episodes count as failed.
   */
  private tooLongToOpen(): ReadonlySet<string> {
    return this.isOwners ? this.ifMost(this.work.tooLongToOpen) : new Set();
  }

  /**
   * The same for conversations that the model server refused: if these are the majority, the server refuses them all.
   */
  private refused(): ReadonlySet<string> {
    return this.ifMost(this.work.refused);
  }

  private ifMost(episodes: { seed: number; trial: number }[]): ReadonlySet<string> {
    return new Set(episodes.length > this.options.plans.length / 2 ? episodes.map(episodeKey) : []);
  }

  private refusesMost(): Error {
    const count = `${this.refused().size} of ${this.options.plans.length}`;
    return failure(
      'Model.Refused',
      `The model server refused the conversations of ${count} episodes, so the cause is the server or a setting. ` +
        `The last answer: ${this.lastRefusal?.message} Correct what it names; \`whet retry RUN\` plays these tasks again.`,
    );
  }

  private contextTooShort(): Error {
    const { name, baseUrl, served } = this.options.model;
    const length = served?.maxModelLength ?? null;
    return failure(
      'Model.ContextTooShort',
      `${this.tooLongToOpen().size} of ${this.options.plans.length} episodes open with a prompt that is longer than the ` +
        `context of ${name} at ${baseUrl}${length === null ? '' : ` (${length} tokens)`}.`,
    );
  }

  private async runOne(plan: EpisodePlan): Promise<void> {
    const environment = await this.restarting.running();
    const { tools, hasSay } = await environment.describe();
    let fault: string | null = null;
    const parties = {
      environment,
      tools,
      hasSay,
      settings: this.options.settings,
      chat: this.model.chat.bind(this.model),
      toleratesFaults: !this.isOwners,
      onFault: (error: SandboxError) => (fault = error.message),
      onRefusal: (refusal: ModelFault) => (this.lastRefusal = refusal),
    };
    // A repeated episode gets a new name, because the first one may still be open in the environment.
    const name = `${plan.seed}-${plan.trial}-${this.runs++}`;
    const trajectory = await runEpisode(plan, parties, name).catch((error: unknown) => {
      const isOfTask = error instanceof SandboxError && !isProcessFault(error);
      throw this.isOwners && isOfTask ? this.ownersFault(error, plan) : error;
    });
    await this.keep(trajectory, fault);
  }

  private ownersFault(error: SandboxError, { seed, trial }: EpisodePlan): Error {
    return ownerTaskFailure(error, `task ${seed} (trial ${trial})`, Context.current().info.attempt);
  }

  private async keep(trajectory: Trajectory, fault: string | null): Promise<void> {
    await this.model.confirm();
    await this.work.add(trajectory, fault, this.seconds());
    this.progress.advance();
  }
}
