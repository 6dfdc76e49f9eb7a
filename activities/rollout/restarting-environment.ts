import { SandboxError } from '../../sandbox';
import { mapInParallel } from '../in-parallel';
import { type EnvironmentHandle, type OpenEnvironment, type PaidSource, sourceFault } from '../environment';

const PROCESS_FAULTS: readonly SandboxError['type'][] = [
  'Sandbox.EnvironmentHung',
  'Sandbox.EnvironmentDied',
  'Sandbox.EnvironmentKilled',
  'Sandbox.EnvironmentClosed',
  'Sandbox.StartFailed',
  'Sandbox.BadOutput',
  'Sandbox.OutputFlood',
];

/** Whether an error ended the environment's process, and so all its other episodes. */
export function isProcessFault(error: unknown): boolean {
  return error instanceof SandboxError && PROCESS_FAULTS.includes(error.type);
}

/**
 * Results of `work` in the order of the items, as `mapInParallel`. It is unknown which of the items that a process
 * plays at a time ended it, so these run again one by one, after all others.
 * @throws the signal's reason; the first error of `work` that ended no process, or that ended one again.
 */
export async function mapAloneIfLost<T, R>(
  items: readonly T[],
  limit: number,
  signal: AbortSignal,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const found = await mapInParallel(items, limit, signal, async (item): Promise<{ result: R } | { lost: T }> => {
    try {
      return { result: await work(item) };
    } catch (error) {
      if (!isProcessFault(error)) throw error;
      return { lost: item };
    }
  });
  return mapInParallel(found, 1, signal, async (one) => ('lost' in one ? work(one.lost) : one.result));
}

/** Keeps one process of an environment available: after it ends, the next `running` starts a new one. */
export class RestartingEnvironment {
  private current: Promise<EnvironmentHandle> | null = null;
  private closed = false;

  constructor(
    private readonly open: OpenEnvironment,
    private readonly environment: PaidSource,
  ) {}

  /**
   * Returns the running process. Rejects as `openEnvironment` does, and with Sandbox.EnvironmentClosed after `close`. A
   * fault in the source of the owner's environment rejects with Environment.Failed, which is not retried.
   */
  async running(): Promise<EnvironmentHandle> {
    for (;;) {
      if (this.closed)
        throw new SandboxError('Sandbox.EnvironmentClosed', `Environment ${this.environment.name} was closed.`);
      this.current ??= this.open(this.environment);
      const opening = this.current;
      const handle = await opening.catch((error: unknown) => {
        if (this.current === opening) this.current = null;
        throw sourceFault(error, this.environment) ?? error;
      });
      if (handle.alive) return handle;
      if (this.current === opening) {
        this.current = null;
        await handle.close();
      }
    }
  }

  /** Ends the process, if there is one. Requests that wait for it reject with Sandbox.EnvironmentClosed. */
  async close(): Promise<void> {
    this.closed = true;
    const opening = this.current;
    this.current = null;
    await (await opening?.catch(() => null))?.close();
  }
}
