import type { Clock } from '../clock';
import type { ChatAnswer, ChatRequest, ModelClient } from './model-client';
import { ModelFault, modelFailure } from './model-errors';
import type { ServedAdapter } from './served-adapter';

/** Settings of a PolicyModel. */
export interface PolicyModelOptions {
  client: ModelClient;
  clock: Clock;
  /** Ends in /v1. */
  baseUrl: string;
  /** Adapters that are loaded when the server lacks them. Requests for other names are only passed on. */
  adapters: readonly ServedAdapter[];
  signal: AbortSignal;
  /** How long a call is repeated while the server does not answer. Default 60 s. */
  patienceMs?: number;
  /** Called with a sentence when the server stops answering, and with undefined when it answers again. */
  onTrouble?: (note: string | undefined) => void;
}

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 4_000;
/** If a server loses an adapter more often than this during one call, more is wrong than a restart. */
const MAX_RELOADS = 5;

/**
 * A model endpoint that may be restarted while it is used. Calls are repeated with back-off until it answers again, and
 * lost adapters are loaded again. Rejects with `Model.Unreachable`, `Model.Refused` or the signal's reason.
 */
export class PolicyModel {
  private reload: Promise<void> | null = null;
  private readonly adapters: Map<string, ServedAdapter>;

  constructor(private readonly options: PolicyModelOptions) {
    this.adapters = new Map(options.adapters.map((adapter) => [adapter.name, adapter]));
  }

  /** Loads the adapters that the server lacks. Call it before the first `chat`, which repeats it when one was lost. */
  ensureAdapters(): Promise<void> {
    // Many episodes notice a restart at the same time. They share one attempt to load.
    this.reload ??= this.loadMissing().finally(() => (this.reload = null));
    return this.reload;
  }

  /** Asks for one completion. */
  async chat(request: Omit<ChatRequest, 'baseUrl'>): Promise<ChatAnswer> {
    const { client, baseUrl, signal } = this.options;
    for (let reloads = 0; ; reloads++) {
      try {
        return await this.patiently(() => client.chat({ ...request, baseUrl }, signal));
      } catch (error) {
        const isLost =
          error instanceof ModelFault && error.kind === 'unknown-model' && this.adapters.has(request.model);
        if (!isLost || reloads >= MAX_RELOADS) throw asFailure(error);
        await this.ensureAdapters();
      }
    }
  }

  private async loadMissing(): Promise<void> {
    const { client, baseUrl, signal } = this.options;
    if (this.adapters.size === 0) return;
    try {
      const served = new Set(await this.patiently(() => client.models(baseUrl, signal)));
      for (const { name, path } of this.adapters.values()) {
        if (served.has(name)) continue;
        try {
          await this.patiently(() => client.loadAdapter(baseUrl, name, path, signal));
        } catch (error) {
          if (!(error instanceof ModelFault)) throw error;
          // Servers answer with an error when another activity has loaded the adapter in the meantime.
          if ((await this.patiently(() => client.models(baseUrl, signal))).includes(name)) continue;
          throw new ModelFault(
            'refused',
            `The model server did not load adapter ${name}. ${error.message}`,
            undefined,
            { cause: error },
          );
        }
      }
    } catch (error) {
      throw asFailure(error);
    }
  }

  /** Repeats an operation while the server is unreachable, for at most `patienceMs`. */
  private async patiently<T>(operation: () => Promise<T>): Promise<T> {
    const { clock, signal, patienceMs = 60_000, onTrouble } = this.options;
    let troubleSince: number | null = null;
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
      signal.throwIfAborted();
      try {
        const result = await operation();
        if (troubleSince !== null) onTrouble?.(undefined);
        return result;
      } catch (error) {
        if (!(error instanceof ModelFault) || error.kind !== 'unreachable') throw error;
        troubleSince ??= clock.now();
        const pause = Math.max(waitMs, error.retryAfterMs ?? 0);
        if (clock.now() + pause - troubleSince > patienceMs) throw error;
        onTrouble?.(`waiting for the model server: ${error.message}`);
        await clock.sleep(pause, signal);
      }
    }
  }
}

function asFailure(error: unknown): unknown {
  return error instanceof ModelFault ? modelFailure(error) : error;
}
