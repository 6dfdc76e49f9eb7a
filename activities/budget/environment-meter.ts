import {
  dollarsForEnvironment,
  type EnvironmentTokens,
  type EnvironmentUse,
  parseEnvironmentUse,
  sumOfStages,
  useOfEpisode,
} from '../../contracts/artifacts/environment-use';
import { canonicalJson } from '../../contracts/artifacts/trajectory-id';
import type { BudgetSpec } from '../../contracts/config/analyst-spec';
import type { StageName } from '../../contracts/names';
import { layout, type ArtifactStore } from '../../store';
import { overLimit } from './over-limit';
import { UseMeter } from './use-meter';

/** Reads what a run has spent on simulated users and judges so far, by stage; empty before the first episode. */
export async function readEnvironmentUse(store: ArtifactStore, runId: string): Promise<EnvironmentUse> {
  return parseEnvironmentUse((await store.readDocument(layout.environmentUse(runId)))?.value).uses;
}

/** Why `running` more episodes would pass the budget of simulated users and judges; null if they fit. */
function excess(runId: string, budget: BudgetSpec, use: EnvironmentUse, running: number): string | null {
  const { episodes, unknown, promptTokens, completionTokens } = sumOfStages(use);
  const spent = { tokens: promptTokens + completionTokens, usd: dollarsForEnvironment(use, budget.environment) };
  const over = overLimit(budget.environment ?? {}, spent, { calls: episodes - unknown, running });
  if (over === null) return null;
  return (
    `${over.words} are spent on the simulated users and judges of ${episodes} episodes; one more would pass the ` +
    `budget. Raise it with: whet budget ${runId} --environment-${over.amount} N`
  );
}

/** Meters by run, and by the budget of agent.yaml, which a waiting run may take over anew. */
const meters = new WeakMap<ArtifactStore, Map<string, UseMeter<EnvironmentUse>>>();
/** Only the newest are kept, because a worker serves many runs. */
const MOST_METERS = 50;

/** The run that pays for an environment's simulated users and judges, and the stage for which it does. */
export interface Payer {
  store: ArtifactStore;
  runId: string;
  budget: BudgetSpec;
  stage: StageName;
}

/** An episode that counts as running. After the first call of one of these, further calls do nothing. */
export interface RunningEpisode {
  /** It is over, and counts with what it spent; null: it does not say. */
  recorded: (spent: EnvironmentTokens | null) => void;
  /** It is over, and does not count. */
  over: () => void;
}

/** The meter that all episodes of a run share in this process. Otherwise none would see what others spend. */
function meterOf({ store, runId, budget }: Payer) {
  const known = meters.get(store) ?? new Map<string, UseMeter<EnvironmentUse>>();
  meters.set(store, known);
  const name = canonicalJson([runId, budget]);
  const meter =
    known.get(name) ??
    new UseMeter(store, runId, {
      key: layout.environmentUse(runId),
      parse: parseEnvironmentUse,
      excess: (limits, use, running) => excess(runId, limits, use, running),
      budget,
    });
  known.set(name, meter);
  if (known.size > MOST_METERS) known.delete(known.keys().next().value as string);
  return meter;
}

/**
 * Counts what episodes spend on simulated users and judges. In a set of rollouts each try is a line of the set's work
 * file, and each line counts once.
 *
 * What a worker plays at a time, such as the arms of an evaluation, shares the run's count: an episode in play is
 * reserved for with the mean of those before. So a run passes its limit by at most what the episodes in play spend
 * beyond that mean. Where nothing is known yet, that is all that they spend; where several workers play, all that those
 * of the others spend, too.
 */
export class EnvironmentMeter {
  private readonly meter: UseMeter<EnvironmentUse>;

  /** @param segment the work file of the set; null: nothing is recorded, so that a repetition counts again. */
  constructor(
    private readonly payer: Payer,
    private readonly segment: string | null,
  ) {
    this.meter = meterOf(payer);
  }

  /**
   * Counts the lines of earlier attempts that were not counted yet.
   * @param spent of each readable line; null: it does not say.
   * @param lines number of all lines.
   */
  async opened(spent: readonly (EnvironmentTokens | null)[], lines: number): Promise<void> {
    const uses = spent.map((tokens) => useOfEpisode(this.payer.stage, tokens));
    if (this.segment !== null) await this.meter.opened(this.segment, uses, lines);
  }

  /** Begins an episode. Throws Budget.Spent if it would probably pass the budget. */
  async begin(): Promise<RunningEpisode> {
    await this.meter.admit();
    let isRunning = true;
    const over = (): boolean => {
      const was = isRunning;
      if (was) this.meter.ended();
      isRunning = false;
      return was;
    };
    return {
      recorded: (spent) => {
        if (over()) this.meter.add(this.segment, useOfEpisode(this.payer.stage, spent));
      },
      over,
    };
  }

  /**
   * Plays an episode, which counts as running until it is recorded. Throws as `begin` does.
   * @param play calls `recorded` when the episode's line has been appended to the work file.
   */
  async guard<T>(play: (recorded: RunningEpisode['recorded']) => Promise<T>): Promise<T> {
    const { recorded, over } = await this.begin();
    try {
      return await play(recorded);
    } finally {
      over();
    }
  }

  /** Writes what was counted. */
  flush(): Promise<void> {
    return this.meter.write();
  }
}
