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

/** The meter that all sets of rollouts of a run share in this process. Otherwise none would see what others play. */
function meterOf(store: ArtifactStore, { runId, budget }: { runId: string; budget: BudgetSpec }) {
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
 * Counts what the episodes of a set of rollouts spend on simulated users and judges. Each try is a line of the set's
 * work file, and each line counts once.
 *
 * Sets that a worker plays at a time, such as the arms of an evaluation, share the run's count: an episode in play is
 * reserved for with the mean of those before. So a run passes its limit by at most what the episodes in play spend
 * beyond that mean. Where nothing is known yet, that is all that they spend; where several workers play, all that those
 * of the others spend, too.
 */
export class EnvironmentMeter {
  private readonly meter: UseMeter<EnvironmentUse>;

  /** @param segment the work file of the set; null: nothing is recorded, so that a repetition counts again. */
  constructor(
    store: ArtifactStore,
    run: { runId: string; budget: BudgetSpec },
    private readonly stage: string,
    private readonly segment: string | null,
  ) {
    this.meter = meterOf(store, run);
  }

  /**
   * Counts the lines of earlier attempts that were not counted yet.
   * @param spent of each readable line; null: it does not say.
   * @param lines number of all lines.
   */
  async opened(spent: readonly (EnvironmentTokens | null)[], lines: number): Promise<void> {
    const uses = spent.map((tokens) => useOfEpisode(this.stage, tokens));
    if (this.segment !== null) await this.meter.opened(this.segment, uses, lines);
  }

  /**
   * Plays an episode, which counts as running until it is recorded. Throws Budget.Spent if it would probably pass the
   * budget.
   * @param play calls `recorded` when the episode's line has been appended to the work file, with what it spent; null:
   *   it does not say.
   */
  async guard<T>(play: (recorded: (spent: EnvironmentTokens | null) => void) => Promise<T>): Promise<T> {
    await this.meter.admit();
    let isRunning = true;
    const end = (): void => {
      if (isRunning) this.meter.ended();
      isRunning = false;
    };
    try {
      return await play((spent) => {
        end();
        this.count(spent);
      });
    } finally {
      end();
    }
  }

  /** Counts an episode. @param spent null: it does not say. */
  count(spent: EnvironmentTokens | null): void {
    this.meter.add(this.segment, useOfEpisode(this.stage, spent));
  }

  /** Writes what was counted. */
  flush(): Promise<void> {
    return this.meter.write();
  }
}
