import { setTimeout } from 'node:timers/promises';
import type { EnvironmentTokens } from '../../contracts/artifacts/environment-use';
import { type EnvironmentHandle, SandboxError } from '../../sandbox';
import type { EnvironmentMeter, RunningEpisode } from './environment-meter';

/** Longest wait in milliseconds for what open episodes have spent, when the environment is closed. */
const CLOSE_MS = 2_000;

/**
 * An environment of a run, with the tokens of its simulated users and judges counted. An episode counts once, when it
 * is evaluated, dropped or fails, at the latest when the environment is closed. Nothing is recorded of it, so an
 * activity that begins again pays for its episodes again, and they count again.
 */
export class MeteredEnvironment implements EnvironmentHandle {
  readonly name: EnvironmentHandle['name'];
  readonly isolation: EnvironmentHandle['isolation'];
  readonly sha256: EnvironmentHandle['sha256'];
  readonly facts?: NonNullable<EnvironmentHandle['facts']>;
  readonly hello?: NonNullable<EnvironmentHandle['hello']>;
  readonly takesWholeTurns?: boolean;
  readonly namedTasks?: NonNullable<EnvironmentHandle['namedTasks']>;
  private readonly open = new Map<string, RunningEpisode>();

  constructor(
    private readonly opened: EnvironmentHandle,
    private readonly meter: EnvironmentMeter,
  ) {
    const { name, isolation, sha256, facts, hello, takesWholeTurns } = opened;
    this.name = name;
    this.isolation = isolation;
    this.sha256 = sha256;
    if (facts !== undefined) this.facts = facts;
    if (hello !== undefined) this.hello = hello;
    if (takesWholeTurns !== undefined) this.takesWholeTurns = takesWholeTurns;
    if (opened.namedTasks !== undefined) this.namedTasks = opened.namedTasks.bind(opened);
  }

  get alive(): boolean {
    return this.opened.alive;
  }

  describe(): ReturnType<EnvironmentHandle['describe']> {
    return this.opened.describe();
  }

  /** @throws Budget.Spent if the episode would probably pass the budget. */
  async reset(episode: string, seed: number): ReturnType<EnvironmentHandle['reset']> {
    this.open.set(episode, await this.meter.begin());
    return this.countedIfItFails(episode, this.opened.reset(episode, seed));
  }

  step(...step: Parameters<EnvironmentHandle['step']>): ReturnType<EnvironmentHandle['step']> {
    return this.countedIfItFails(step[0], this.opened.step(...step));
  }

  say(episode: string, text: string): ReturnType<EnvironmentHandle['say']> {
    return this.countedIfItFails(episode, this.opened.say(episode, text));
  }

  async evaluate(episode: string): ReturnType<EnvironmentHandle['evaluate']> {
    const evaluated = await this.countedIfItFails(episode, this.opened.evaluate(episode));
    this.end(episode, evaluated.usage ?? null);
    return evaluated;
  }

  async drop(episode: string): ReturnType<EnvironmentHandle['drop']> {
    const spent = await this.opened.drop(episode);
    this.end(episode, spent);
    return spent;
  }

  task(seed: number): ReturnType<EnvironmentHandle['task']> {
    return this.opened.task(seed);
  }

  reference(seed: number): ReturnType<EnvironmentHandle['reference']> {
    return this.opened.reference(seed);
  }

  /** What an open episode does not say in `CLOSE_MS` is not known. */
  async close(): Promise<void> {
    const drops = Promise.allSettled([...this.open.keys()].map((episode) => this.drop(episode)));
    if (this.open.size > 0) await Promise.race([drops, setTimeout(CLOSE_MS, null, { ref: false })]);
    await this.opened.close();
    for (const episode of this.open.keys()) this.end(episode, null);
    // The caller's error, if there is one, is the one to tell. A count that could not be written waits for the next.
    await this.meter.flush().catch(() => undefined);
  }

  /** A request that fails ends its episode in the environments of commands. */
  private async countedIfItFails<T>(episode: string, request: Promise<T>): Promise<T> {
    try {
      return await request;
    } catch (error) {
      this.end(episode, error instanceof SandboxError ? error.spent : null);
      throw error;
    }
  }

  private end(episode: string, spent: EnvironmentTokens | null): void {
    this.open.get(episode)?.recorded(spent);
    this.open.delete(episode);
  }
}
