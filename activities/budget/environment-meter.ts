import {
  dollarsForEnvironment,
  type EnvironmentTokens,
  type EnvironmentUse,
  parseEnvironmentUse,
  sumOfStages,
  useOfEpisode,
} from '../../contracts/artifacts/environment-use';
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

/**
 * Counts what the episodes of a set of rollouts spend on simulated users and judges. Each try is a line of the set's
 * work file, and each line counts once.
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
    this.meter = new UseMeter(store, run.runId, {
      key: layout.environmentUse(run.runId),
      parse: parseEnvironmentUse,
      excess: (budget, use, running) => excess(run.runId, budget, use, running),
      budget: run.budget,
    });
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
