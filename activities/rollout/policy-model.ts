import { ApplicationFailure } from '@temporalio/common';
import { addressRemedy, type RunModel } from '../endpoints/run-model';
import type { Clock } from '../clock';
import type { ChatAnswer, ChatRequest, ModelClient } from './model-client';
import { ModelFault, type ModelFaultKind, modelFailure } from './model-errors';
import { type ModelCard, requireSameFingerprint, requireSameModel } from './model-identity';
import type { ServedAdapter } from './served-adapter';

/** Settings of a PolicyModel. */
export interface PolicyModelOptions {
  client: ModelClient;
  clock: Clock;
  /** The run's original model, and its address. */
  model: RunModel;
  /** Most calls at the same time. */
  concurrency: number;
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
/** If a server loses an adapter more often than this during one call, the cause is not a restart. */
const MAX_RELOADS = 5;
/** Where agent.yaml names no time for an answer: seconds for any answer, and for each token of it. */
const ANSWER_SECONDS = 120;
const TOKEN_SECONDS = 1;
/** Answers at a time for which that is enough. A server makes 100 tokens a second then, over all of them. */
const ENOUGH_FOR = 100;
/** Faults after which the same call may succeed. */
const MAY_PASS: ReadonlySet<ModelFaultKind> = new Set(['unreachable', 'failed']);
/** Answered by every server that works. */
const OTHER_CONVERSATION = {
  messages: [{ role: 'user', content: 'hello' }],
  temperature: 0,
  seed: 0,
  maxTokens: 1,
} satisfies Omit<ChatRequest, 'baseUrl' | 'model'>;

/**
 * A model endpoint that may be restarted while it is used. Calls are repeated with back-off until it answers again, and
 * lost adapters are loaded again. The server must still serve the model with which the run began. So its list of models
 * is compared before the first answer and after each outage. Each answer that names its weights is compared, too.
 * Rejects with `Model.*` or the signal's reason.
 */
export class PolicyModel {
  private reload: Promise<void> | null = null;
  private identity: Promise<void> | null = null;
  /** Number of the server's outages. */
  private absences = 0;
  private answersNameWeights = false;
  private hasListed = false;
  /** The last check of `confirm`; never rejects. */
  private check: Promise<void> = Promise.resolve();
  private nextCheck: Promise<void> | null = null;
  private readonly adapters: Map<string, ServedAdapter>;

  constructor(private readonly options: PolicyModelOptions) {
    this.adapters = new Map(options.adapters.map((adapter) => [adapter.name, adapter]));
  }

  /**
   * Loads the adapters that the server lacks. Call it before the first `chat`; later `chat` repeats it when an adapter
   * was lost.
   */
  ensureAdapters(): Promise<void> {
    // Many episodes notice a restart at the same time. They share one attempt to load adapters.
    this.reload ??= this.loadMissing().finally(() => (this.reload = null));
    return this.reload;
  }

  /** Asks for one completion. */
  async chat(request: Omit<ChatRequest, 'baseUrl'>): Promise<ChatAnswer> {
    const { client, model, signal } = this.options;
    const { baseUrl } = model;
    for (let reloads = 0; ; reloads++) {
      try {
        const before = this.absences;
        await this.identify();
        const answer = await this.inTime(request.maxTokens, (timeoutMs) =>
          client.chat({ ...request, baseUrl, timeoutMs }, signal),
        ).catch((error: unknown) => this.blame(error, request.model));
        // The server that comes back may serve another model.
        if (this.absences !== before) await this.identify();
        this.answersNameWeights = requireSameFingerprint(model, answer.fingerprint);
        return answer;
      } catch (error) {
        const isLost =
          error instanceof ModelFault && error.kind === 'unknown-model' && this.adapters.has(request.model);
        if (!isLost || reloads >= MAX_RELOADS) throw this.asFailure(error);
        await this.ensureAdapters();
      }
    }
  }

  /** Number of tokens of a conversation's prompt; null: the server does not count. */
  async countTokens(request: Pick<ChatRequest, 'model' | 'messages' | 'tools'>): Promise<number | null> {
    const { client, model, signal } = this.options;
    try {
      return (await client.countTokens?.({ ...request, baseUrl: model.baseUrl }, signal)) ?? null;
    } catch (error) {
      throw this.asFailure(error);
    }
  }

  /**
   * Why the server gives no tokens of prompts and answers; null: it gives them. It is asked once, because a server that
   * refuses members that it does not know would else refuse every conversation.
   */
  async whyNoTokens(): Promise<string | null> {
    const { model } = this.options;
    const small = { ...OTHER_CONVERSATION, model: model.name };
    try {
      const { tokens } = await this.chat({ ...small, tokens: true });
      return tokens ? null : `The model server at ${model.baseUrl} answers without the ids of tokens.`;
    } catch (error) {
      const fault = error instanceof ApplicationFailure ? error.cause : null;
      if (!(fault instanceof ModelFault) || fault.kind !== 'conversation') throw error;
      await this.chat(small);
      return `The model server at ${model.baseUrl} takes no return_token_ids. ${fault.message}`;
    }
  }

  /**
   * Makes sure that all answers so far came from the model with which the run began. Call it before storing a result.
   * If every answer names its weights, it costs nothing. Otherwise it asks the server for its list of models, once for
   * all waiting callers.
   */
  async confirm(): Promise<void> {
    if (this.answersNameWeights) return;
    // A running check may have asked before the last answer came. So the next check counts.
    this.nextCheck ??= this.check.then(() => {
      this.nextCheck = null;
      const check = this.compareModels();
      this.check = check.catch(() => undefined);
      return check;
    });
    try {
      await this.nextCheck;
    } catch (error) {
      throw this.asFailure(error);
    }
  }

  /**
   * Throws the error. A server that fails at one conversation all the time, and answers another one, is not down. One
   * that said when to come back may not have been asked again, so it shows nothing about the conversation.
   */
  private async blame(error: unknown, name: string): Promise<never> {
    if (!(error instanceof ModelFault) || error.kind !== 'failed' || error.retryAfterMs !== undefined) throw error;
    const { client, model, signal } = this.options;
    const other = { ...OTHER_CONVERSATION, baseUrl: model.baseUrl, model: name };
    await client.chat(other, signal).catch(() => {
      signal.throwIfAborted();
      throw error;
    });
    const what = `${error.message} It fails at this conversation all the time, and answers another one.`;
    throw new ModelFault('conversation', what, undefined, { cause: error });
  }

  /** Compares the server's list of models once, and again after each outage. */
  private identify(): Promise<void> {
    this.identity ??= this.compareModels().catch((error: unknown) => {
      this.identity = null;
      throw error;
    });
    return this.identity;
  }

  private async compareModels(): Promise<void> {
    for (;;) {
      const before = this.absences;
      requireSameModel(this.options.model, await this.listModels());
      if (this.absences === before) return;
    }
  }

  /** The server's list of models. Where the address gave one before, anything else comes from a proxy: it may pass. */
  private async listModels(): Promise<ModelCard[]> {
    const { client, model, signal } = this.options;
    const cards = await this.patiently(() =>
      client.models(model.baseUrl, signal).catch((error: unknown) => {
        if (!this.hasListed || !(error instanceof ModelFault) || error.kind !== 'refused') throw error;
        throw new ModelFault('failed', error.message, undefined, { cause: error });
      }),
    );
    this.hasListed = true;
    return cards;
  }

  private async loadMissing(): Promise<void> {
    const { client, model, signal } = this.options;
    const { baseUrl } = model;
    if (this.adapters.size === 0) return;
    const names = async () => (await this.listModels()).map(({ id }) => id);
    try {
      const served = new Set(await names());
      for (const { name, path } of this.adapters.values()) {
        if (served.has(name)) continue;
        try {
          await this.patiently(() => client.loadAdapter(baseUrl, name, path, signal));
        } catch (error) {
          if (!(error instanceof ModelFault) || error.kind === 'unauthorised') throw error;
          // Servers answer with an error if another activity has loaded the adapter meanwhile.
          if ((await names()).includes(name)) continue;
          throw new ModelFault(
            MAY_PASS.has(error.kind) ? error.kind : 'refused',
            `The model server did not load adapter ${name} from ${path}. ${error.message}`,
            undefined,
            { cause: error },
          );
        }
      }
    } catch (error) {
      throw this.asFailure(error);
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
        if (!(error instanceof ModelFault) || !MAY_PASS.has(error.kind)) throw error;
        if (troubleSince === null) this.noteAbsence();
        troubleSince ??= clock.now();
        const pause = Math.max(waitMs, error.retryAfterMs ?? 0);
        if (clock.now() + pause - troubleSince > patienceMs) throw error;
        onTrouble?.(`waiting for the model server: ${error.message}`);
        await clock.sleep(pause, signal);
      }
    }
  }

  /**
   * Asks for an answer, and once more with twice the time where none comes while the server works: it is slow, and not
   * down. On a server that is slow because of many requests the second one may find fewer.
   */
  private async inTime<T>(tokens: number, ask: (timeoutMs: number) => Promise<T>): Promise<T> {
    const { model, concurrency, onTrouble } = this.options;
    const {
      timeoutSeconds = ANSWER_SECONDS + Math.ceil(tokens * TOKEN_SECONDS * Math.max(1, concurrency / ENOUGH_FOR)),
    } = model;
    try {
      return await this.patiently(() => ask(timeoutSeconds * 1000));
    } catch (error) {
      if (!(error instanceof ModelFault) || error.kind !== 'slow') throw error;
      await this.listModels();
      const again = `It is asked again and gets ${2 * timeoutSeconds} s; model.timeoutSeconds gives more.`;
      onTrouble?.(`the model server works, but is slow: ${error.message} ${again}`);
    }
    const answer = await this.patiently(() => ask(2 * timeoutSeconds * 1000));
    onTrouble?.(undefined);
    return answer;
  }

  private noteAbsence(): void {
    this.absences++;
    this.identity = null;
  }

  private asFailure(error: unknown): unknown {
    if (!(error instanceof ModelFault)) return error;
    const more =
      error.kind === 'unreachable'
        ? ` ${addressRemedy(this.options.model)}`
        : error.kind === 'slow'
          ? ' It works, but is slow: its list of models came, and this answer did not, twice.'
          : '';
    if (more === '') return modelFailure(error);
    return modelFailure(new ModelFault(error.kind, error.message + more, error.retryAfterMs, { cause: error }));
  }
}
