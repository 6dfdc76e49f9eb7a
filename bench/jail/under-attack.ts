import { setTimeout as delay } from 'node:timers/promises';
import type { EnvironmentProcess, LoadedProfile } from '../../sandbox';
import { BENCH_ATTACKS, CALL, HONEST } from './environments';
import { percentile } from '../shared/percentile';
import { startRuntime } from './start-runtime';
import { stepTimes } from './step-times';

/** Step times of an honest episode while another jail attacks, and right before and after. */
export interface AttackResult {
  attack: string;
  idleP50Ms: number;
  p50Ms: number;
  p99Ms: number;
  /** Jails that the attack used up meanwhile. */
  attackers: number;
}

export interface UnderAttackOptions {
  /** Steps in each window: one before, one during, one after each attack. */
  steps: number;
  /** Pause between the steps, in milliseconds. A policy model needs longer. */
  paceMs: number;
  /** Jails that attack at once. */
  attackers: number;
}

/** Runs every attack while an honest environment is stepped. Jails that are killed are replaced by fresh ones. */
export async function underAttack(
  loaded: LoadedProfile,
  { steps, paceMs, attackers }: UnderAttackOptions,
): Promise<AttackResult[]> {
  // Attacks that hang meet their deadline within the window, as they would in a service.
  const short: LoadedProfile = {
    ...loaded,
    profile: { ...loaded.profile, wallMs: { ...loaded.profile.wallMs, request: 1_000 } },
  };
  const honest = await startRuntime('jail', HONEST, loaded);
  const results: AttackResult[] = [];
  try {
    await stepTimes(honest, 500);
    for (const { name, source } of BENCH_ATTACKS) {
      const before = await stepTimes(honest, steps, paceMs);
      const attack = new Attackers(source, short, attackers);
      await attack.underWay;
      const during = await stepTimes(honest, steps, paceMs);
      await attack.stop();
      const after = await stepTimes(honest, steps, paceMs);
      const idle = [...before, ...after];
      results.push({
        attack: name,
        idleP50Ms: percentile(idle, 0.5),
        p50Ms: percentile(during, 0.5),
        p99Ms: percentile(during, 0.99),
        attackers: attack.used,
      });
    }
  } finally {
    await honest.close();
  }
  return results;
}

/** Jails that attack, each replaced when it is killed. */
class Attackers {
  used = 0;
  readonly underWay: Promise<void>;
  private stopped = false;
  private readonly living = new Set<EnvironmentProcess>();
  private readonly seats: Promise<void>[];
  private isUnderWay: () => void = () => {};

  constructor(
    private readonly source: string,
    private readonly loaded: LoadedProfile,
    count: number,
  ) {
    this.underWay = new Promise((resolve) => (this.isUnderWay = resolve));
    this.seats = Array.from({ length: count }, () => this.attack());
  }

  async stop(): Promise<void> {
    this.stopped = true;
    // Killed by their deadline or by hand: closing alone would wait for those that do not listen.
    await Promise.all([...this.living].map((environment) => environment.close()));
    await Promise.all(this.seats);
  }

  private async attack(): Promise<void> {
    while (!this.stopped) {
      const environment = await startRuntime('jail', this.source, this.loaded);
      this.living.add(environment);
      this.used++;
      // It may be stopped in between.
      await environment.reset('attack', 1).catch(() => undefined);
      void delay(20).then(this.isUnderWay);
      for (let step = 0; environment.alive && !this.stopped && step < 900; step++)
        await environment.step('attack', [CALL]).catch(() => undefined);
      await environment.close();
      this.living.delete(environment);
    }
  }
}
