import { setMaxListeners } from 'node:events';
import { Context } from '@temporalio/activity';
import type { EnvironmentTokens } from '../../contracts/artifacts/environment-use';
import type { EpisodeTokens } from '../../contracts/artifacts/episode-tokens';
import { isPlayed, type Trajectory } from '../../contracts/artifacts/trajectory';
import type { FailedByCause } from '../../contracts/failed-episodes';
import type { StageName } from '../../contracts/names';
import { isFailure } from '../../contracts/typed-failure';
import { launchProgram, SandboxError } from '../../sandbox';
import { EnvironmentMeter } from '../budget/environment-meter';
import type { RolloutDeps } from './rollout-deps';
import { ownerFailure, ownerTaskFailure, paidBy, type PaidSource, payerOf } from '../environment';
import { Progress } from '../progress';
import { isProcessFault } from './restarting-environment';
import { againIfKilled, isOutsideFault } from '../killed-environment';
import { abandonedEpisode, type EpisodePlan, type EpisodeSettings } from './episode';
import { systemClock } from '../clock';
import { inParallel } from '../in-parallel';
import type { RunModel } from '../endpoints/run-model';
import { type EpisodePlayer, playerOf } from './player';
import { PolicyModel } from './policy-model';
import type { ServedAdapter } from './served-adapter';
import { type EpisodeFault, episodeKey, FinishedEpisodes, type TokensOfEpisode } from './finished-episodes';
import { SharedFaults } from './shared-faults';
import { SlowEpisodes } from './slow-episodes';
import { TokenRows } from './token-rows';

/** The set of rollouts to run. */
export interface RolloutOptions {
  plans: readonly EpisodePlan[];
  /** Its payer pays for each line of the work file. */
  environment: PaidSource;
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
  /** Whether the tokens of the model's answers are kept. Default: no. */
  keepsTokens?: boolean;
  /** With at most so many failed episodes the set does not wait, even if they are most of it. Default 0. */
  mayFail?: number;
}

/** The results of a set of rollouts. Their trajectories are in the work file. */
export interface FinishedRollouts {
  /** Reads those that have a result from the work file, one by one, sorted by seed, then trial. */
  trajectories: () => AsyncIterable<Trajectory>;
  /** The episodes that failed, in the same way; the tokens of all tries that failed. Absent: no try failed. */
  failed?: {
    byCause: FailedByCause;
    trajectories: () => AsyncIterable<Trajectory>;
    usage: () => Promise<Pick<Trajectory['usage'], 'promptTokens' | 'completionTokens'>>;
  };
  /** The tokens of the episodes that have a result. Absent: nobody asked for them. */
  tokens?: { episodes: () => AsyncIterable<TokensOfEpisode>; temperature: number; refusal: string | null };
  /** Number of all episodes, with those that failed. */
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

/**
 * Most episodes of the owner's environment at a time that are played again after the end of their process, each in a
 * process of its own. One at a time, a few tasks that end their process could hold up all others for hours. Those of a
 * synthesised environment are played one at a time, because it is given up after `MAX_PROCESS_FAULTS`, always the same.
 */
const APART_AT_A_TIME = 8;

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
 * this. They are played again, each in a process of its own. An episode that causes it again ends as
 * `environment-error` (synthesised environment), fails the set with `Environment.Failed` (owner's module), or counts as
 * one whose program failed (owner's process). Repeating is safe because an episode is a function of its plan. If
 * something outside kills an episode's process, the episode is played up to three times, because that is nobody's
 * fault.
 *
 * If the simulator, the judge or the program of the owner's environment fails in an episode, the episode is played up
 * to `TASK_TRIES` times, over all attempts of the activity. Then it is kept as `failed`, without a result.
 * @throws ApplicationFailure `Model.*`, `Environment.*`; EnvironmentUnusable; EnvironmentKilled (synthesised); the
 *   signal's reason.
 */
export async function runRollouts(deps: RolloutDeps, options: RolloutOptions): Promise<FinishedRollouts> {
  const { stage, note, plans } = options;
  const { cancellationSignal, heartbeat } = Context.current();
  using progress = new Progress({ stage, unit: 'rollouts', total: plans.length, everyMs: HEARTBEAT_MS, note });
  const work = await FinishedEpisodes.open(deps.store, options.workKey);
  const payer = payerOf(options.environment);
  const meter = payer === null ? null : new EnvironmentMeter(payer, options.workKey);
  await meter?.opened(work.environmentTokens, work.environmentTokens.length + work.damagedLines);
  progress.setDone(work.size);
  heartbeat(progress.snapshot());
  const stop = new AbortController();
  const signal = AbortSignal.any([cancellationSignal, stop.signal]);
  // Every call in flight adds a listener, so that more than ten of them are no leak.
  setMaxListeners(0, signal);
  const startedAt = systemClock.now();
  const seconds = (): number => work.secondsBefore + (systemClock.now() - startedAt) / 1000;
  const set = new RolloutSet(deps, options, { work, meter }, progress, signal, stop, seconds);
  // A hanging environment must not delay a cancellation.
  signal.addEventListener('abort', () => void set.close(), { once: true });
  try {
    await set.run();
  } catch (error) {
    if (cancellationSignal.aborted) throw cancellationSignal.reason;
    if (!(error instanceof SandboxError) || options.environment.trust !== 'owner') throw error;
    throw ownerFailure(error);
  } finally {
    await Promise.all([set.close(), work.close()]);
    // The caller's error, if there is one, is the one to tell.
    await meter?.flush().catch(() => undefined);
  }
  // A count that could not be written is written by a retry, which plays nothing again.
  await meter?.flush();
  const { keepsTokens, settings } = options;
  const { temperature } = settings;
  const tokens = keepsTokens && { episodes: () => work.tokens(), temperature, refusal: set.tokenRefusal };
  return { ...finishedRollouts(work, seconds()), ...(tokens && { tokens }) };
}

const finishedRollouts = (work: FinishedEpisodes, seconds: number): FinishedRollouts => ({
  trajectories: () => work.trajectories(),
  failed: {
    byCause: work.failedByCause,
    trajectories: () => work.failedTrajectories(),
    usage: () => work.failedUsage(),
  },
  episodes: work.size,
  seconds,
  faults: work.faults,
  damagedLines: work.damagedLines,
});

/** Told when an episode is written, with what its simulated user and judge spent. */
type Recorded = (spent: EnvironmentTokens | null) => void;

class RolloutSet {
  private readonly work: FinishedEpisodes;
  /** Counts what simulated users and judges spend; null: the environment has none, or no run pays. */
  private readonly meter: EnvironmentMeter | null;
  private readonly model: PolicyModel;
  private readonly player: EpisodePlayer;
  /** All players, so that none outlives the set. */
  private readonly players = new Set<EpisodePlayer>();
  private readonly isOwners: boolean;
  /** Faults of the environment in episodes that are being played. */
  private readonly faults = new Map<EpisodePlan, string>();
  private runs = 0;
  /** Why the model server gives no tokens, or gave none in an earlier attempt; null: it gives them, or nobody asked. */
  tokenRefusal: string | null;
  /** The failure of the budget of simulated users and judges, after which no episode begins. Null: there is none. */
  private budgetFailure: Error | null = null;
  /** What troubles the model server; undefined: nothing. */
  private trouble: string | undefined;
  /** How the episodes are played; undefined: there is nothing to say. */
  private manner: string | undefined;
  private readonly slow: SlowEpisodes;
  private readonly shared: SharedFaults;

  constructor(
    deps: RolloutDeps,
    private readonly options: RolloutOptions,
    { work, meter }: { work: FinishedEpisodes; meter: EnvironmentMeter | null },
    private readonly progress: Progress,
    private readonly signal: AbortSignal,
    private readonly stop: AbortController,
    private readonly seconds: () => number,
  ) {
    this.work = work;
    this.meter = meter;
    this.shared = new SharedFaults(work, options);
    this.tokenRefusal = work.tokenRefusal;
    this.isOwners = options.environment.trust === 'owner';
    const { model, adapters, environment } = options;
    const endsAfter = 'launch' in environment ? environment.launch.seconds.episode : undefined;
    this.slow = new SlowEpisodes(endsAfter, () => this.showNote(), deps.slowEpisodeMs);
    this.model = new PolicyModel({
      client: deps.model,
      clock: systemClock,
      model,
      concurrency: options.concurrency,
      adapters,
      signal,
      onTrouble: (note) => {
        this.trouble = note;
        this.showNote();
      },
    });
    this.player = playerOf({
      openEnvironment: deps.openEnvironment,
      launchProgram: deps.launchProgram ?? launchProgram,
      set: options.workKey,
      // A line counts, not an episode.
      environment: paidBy(options.environment, null),
      settings: options.settings,
      chat: this.model.chat.bind(this.model),
      countTokens: this.model.countTokens.bind(this.model),
      toleratesFaults: !this.isOwners,
      onFault: (plan, { message }) => void this.faults.set(plan, message),
      onTaskFailure: (error) => (this.shared.lastFailure = error),
      onRefusal: (refusal) => (this.shared.lastRefusal = refusal),
      onNote: (note) => {
        this.manner = note;
        this.showNote();
      },
      whilePlayed: this.slow.watch.bind(this.slow),
    });
    this.players.add(this.player);
  }

  /** Ends what plays the episodes. */
  async close(): Promise<void> {
    await Promise.all([...this.players].map((player) => player.close()));
  }

  async run(): Promise<void> {
    const again = this.shared.episodes();
    if (this.shared.failed.size > 0) this.work.playAgain(this.work.failed);
    const pending = this.options.plans.filter((plan) => !this.work.has(plan) || again.has(episodeKey(plan)));
    if (pending.length === 0) return;
    if (again.size > 0) this.progress.setDone(this.options.plans.length - pending.length);
    this.showNote();
    await this.model.ensureAdapters();
    if (this.options.keepsTokens) this.tokenRefusal = await this.model.whyNoTokens();
    const suspects: EpisodePlan[] = [];
    await inParallel(pending, this.options.concurrency, { signal: this.signal, stop: this.stop }, async (plan) => {
      try {
        await this.runOne(plan);
      } catch (error) {
        if (!isProcessFault(error) || this.signal.aborted) throw error;
        suspects.push(plan);
      }
    });
    await this.playApart(suspects);
    // What was begun is paid, so it is kept.
    if (this.budgetFailure !== null) throw this.budgetFailure;
    this.shared.throwIfAny();
    const { lastRefusal, line } = this.shared;
    if (line !== '') Context.current().log.warn(`Rollouts end without a result: ${line}`);
    if (lastRefusal !== null) Context.current().log.warn(`Rollouts end as refused. ${lastRefusal.message}`);
  }

  /** Plays episodes of which some may end their process, each in a process that plays nothing else meanwhile. */
  private async playApart(suspects: readonly EpisodePlan[]): Promise<void> {
    const lost: string[] = [];
    const free: EpisodePlayer[] = [];
    await inParallel(
      suspects,
      this.isOwners ? APART_AT_A_TIME : 1,
      { signal: this.signal, stop: this.stop },
      async (plan) => {
        const player = free.pop() ?? this.player.apart();
        this.players.add(player);
        try {
          await againIfKilled(() => this.runOne(plan, player), this.signal);
        } catch (error) {
          if (!isProcessFault(error) || isOutsideFault(error) || this.signal.aborted) throw error;
          if (this.isOwners) throw this.ownersFault(error as SandboxError, plan);
          const sentence = (error as SandboxError).message;
          lost.push(sentence);
          if (lost.length > MAX_PROCESS_FAULTS)
            throw new EnvironmentUnusable(lost, await loadRollouts(finishedRollouts(this.work, this.seconds())));
          await this.keep(abandonedEpisode(plan), sentence);
        } finally {
          free.push(player);
        }
      },
    );
  }

  /** The counts of failed and of slow episodes follow what else there is to say. */
  private showNote(): void {
    const failed = this.shared.line;
    const note = this.trouble ?? this.options.note ?? this.manner;
    this.progress.setNote([note, failed, this.slow.text].filter(Boolean).join('; ') || undefined);
  }

  /** Plays an episode, again where something other than the agent failed in it. */
  private async runOne(plan: EpisodePlan, player = this.player): Promise<void> {
    // The majority will stay one, so that further episodes would be paid for in vain.
    for (let isFinished = false; !isFinished && this.budgetFailure === null && this.shared.failed.size === 0;) {
      this.signal.throwIfAborted();
      await this.playIfPaid(plan, player);
      isFinished = this.work.has(plan);
    }
  }

  private async playIfPaid(plan: EpisodePlan, player: EpisodePlayer): Promise<void> {
    if (this.meter === null) return this.playOnce(plan, player);
    try {
      await this.meter.guard((recorded) => this.playOnce(plan, player, recorded));
    } catch (error) {
      if (!isFailure(error, 'Budget.Spent')) throw error;
      this.budgetFailure = error;
    }
  }

  private async playOnce(plan: EpisodePlan, player: EpisodePlayer, recorded?: Recorded): Promise<void> {
    this.faults.delete(plan);
    // A repeated episode gets a new name, because the first one may still be open in the environment.
    const name = `${plan.seed}-${plan.trial}-${this.runs++}`;
    const rows = this.options.keepsTokens ? new TokenRows() : null;
    const chat = rows?.recording(this.model.chat.bind(this.model), this.tokenRefusal === null);
    const trajectory = await player.play(plan, name, chat).catch((error: unknown) => {
      const isOfTask = error instanceof SandboxError && !isProcessFault(error);
      throw this.isOwners && isOfTask ? this.ownersFault(error, plan) : error;
    });
    const tokens = isPlayed(trajectory) ? rows?.kept : undefined;
    await this.keep(trajectory, this.faults.get(plan) ?? null, tokens);
    recorded?.(trajectory.environmentUsage ?? null);
    this.faults.delete(plan);
  }

  private ownersFault(error: SandboxError, { seed, trial }: EpisodePlan): Error {
    return ownerTaskFailure(error, `task ${seed} (trial ${trial})`, Context.current().info.attempt);
  }

  private async keep(trajectory: Trajectory, fault: string | null, tokens?: EpisodeTokens): Promise<void> {
    await this.model.confirm();
    await this.work.add(trajectory, fault, this.seconds(), { tokens, tokenRefusal: this.tokenRefusal });
    if (this.work.has({ seed: trajectory.task.seed, trial: trajectory.trial })) this.progress.advance();
    if (!isPlayed(trajectory)) this.showNote();
  }
}
