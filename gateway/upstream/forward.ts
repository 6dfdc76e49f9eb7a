/**
 * Forwards a request to a model server that can answer it, with retries before the first byte of the answer and a
 * fallback to the base model.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../http/errors';
import { rankReplicas } from './rank-replicas';
import { attempt, type AttemptResult, type ClientState, type OpenRelay, type UpstreamRequest } from './attempt';
import type { Replica } from './replica';
import type { ReplicaSet } from './replica-set';
import { isError, isJsonObject, refusalOf, saysUnknownModel, statusOfBody } from './response-checks';

/** A request to forward, with its options. */
export interface ForwardPlan {
  replicas: ReplicaSet;
  /** Null: the base model. */
  adapter: string | null;
  baseModel: string;
  /** The reaction if the adapter cannot answer: the base model, or an error. */
  fallback: 'base' | 'error';
  /** Key of the conversation. It selects the model server. */
  prefix: string;
  /** The request for a model by its served name. */
  requestFor(model: string): UpstreamRequest;
  /** Null if the client did not ask for a stream. */
  openRelay: OpenRelay | null;
  client: ClientState;
  /** Number of further attempts after the first. */
  retries: number;
  /** How long to wait for a model server if none is ready, in milliseconds. */
  replicaMs: number;
  /** Called before the base model is asked instead of the adapter. */
  onFallback(reason: string): void;
  /** Called before a further attempt. */
  onRetry(reason: string): void;
}

/** The client's answer. `streamed` means that it has already been written. */
export type ForwardResult =
  | { kind: 'whole'; status: number; headers: IncomingHttpHeaders; body: Buffer }
  | { kind: 'streamed'; complete: boolean }
  | { kind: 'client-gone' };

/** The result of an attempt: the request is done, or it may be tried again. */
type AttemptOutcome =
  | { done: ForwardResult }
  /** `doubtful`: the server may have been restarted. */
  | { retry: string; error: ApiError; mayFallBack: boolean; doubtful?: boolean };

/**
 * Forwards a request. Rejects with ApiError if no server answered, but never after something was written to the client.
 */
export async function forward(plan: ForwardPlan): Promise<ForwardResult> {
  let { adapter } = plan;
  let failures = 0;
  const tried = new Set<Replica>();
  const deadline = performance.now() + plan.replicaMs;
  const fallBack = (reason: string): boolean => {
    if (adapter === null || plan.fallback !== 'base') return false;
    plan.onFallback(reason);
    adapter = null;
    tried.clear();
    failures = 0;
    return true;
  };
  for (;;) {
    if (plan.client.gone) return { kind: 'client-gone' };
    const able = rankReplicas(plan.replicas.all, adapter, plan.prefix);
    const replica = able.find((r) => !tried.has(r)) ?? able[0];
    if (replica === undefined) {
      if (adapter !== null && plan.replicas.anyReady()) {
        if (fallBack('adapter-not-ready')) continue;
        throw new ApiError(503, `The adapter ${adapter} is not loaded at any model server yet.`, {
          code: 'adapter_not_ready',
          headers: { 'retry-after': '1' },
        });
      }
      const leftMs = Math.max(0, Math.ceil(deadline - performance.now()));
      if (await plan.replicas.readyBefore(AbortSignal.timeout(leftMs))) continue;
      throw new ApiError(503, 'No model server is ready.', {
        code: 'upstream_unavailable',
        headers: { 'retry-after': '2' },
      });
    }
    tried.add(replica);
    const result = await attempt(replica, plan.requestFor(adapter ?? plan.baseModel), plan.openRelay, plan.client);
    const outcome = outcomeOf(
      result,
      replica,
      adapter,
      able.every((r) => tried.has(r)),
    );
    if ('done' in outcome) return outcome.done;
    if (outcome.doubtful === true) {
      const verified = replica.doubt();
      // Another server can be asked at once.
      if (rankReplicas(plan.replicas.all, adapter, plan.prefix).every((r) => tried.has(r))) await verified;
    }
    if (failures++ < plan.retries) {
      plan.onRetry(outcome.retry);
      continue;
    }
    if (outcome.mayFallBack && fallBack('adapter-failed')) continue;
    throw outcome.error;
  }
}

/**
 * Evaluates an attempt. Marks a server unready if nothing listens there. Throws ApiError for a failure that a further
 * attempt would not change.
 */
function outcomeOf(result: AttemptResult, replica: Replica, adapter: string | null, triedAll: boolean): AttemptOutcome {
  if (result.kind === 'streamed') return { done: result };
  if (result.kind === 'refused') throw result.error;
  if (result.kind === 'failed') {
    if (result.why === 'client-gone') return { done: { kind: 'client-gone' } };
    // With a second attempt the client would have to wait just as long again.
    if (result.why === 'timeout')
      throw new ApiError(504, 'The model server did not answer in time.', { code: 'upstream_timeout' });
    if (result.why === 'too-large') throw new ApiError(502, result.message, { code: 'upstream_too_large' });
    if (result.why === 'junk') return junk(result.message);
    if (result.why === 'connect') replica.markUnready();
    const message =
      result.why === 'connect'
        ? 'The model server cannot be reached.'
        : 'The model server closed the connection before it had answered.';
    return {
      retry: result.why,
      error: new ApiError(502, message, { code: 'upstream_unavailable' }),
      mayFallBack: false,
      doubtful: result.why === 'cut',
    };
  }
  const { headers, body } = result;
  const status = result.status < 300 && isError(body) ? statusOfBody(body) : result.status;
  if (status < 300) {
    if (isJsonObject(body)) return { done: result };
    return junk('The model server answered with something that is not JSON.');
  }
  if (status === 404 && saysUnknownModel(body)) {
    // The server was restarted, or somebody else unloaded the adapter, or the request names its model in an unusual
    // way.
    const name = adapter === null ? 'the base model' : `adapter ${adapter}`;
    return {
      retry: 'lost-model',
      error: new ApiError(503, `The model server has lost ${name}.`, { code: 'adapter_not_ready' }),
      mayFallBack: true,
      doubtful: true,
    };
  }
  // Redirects are neither followed nor passed to the client, because the client would send its key to the new address.
  if (status >= 400 && status < 500) {
    if (status === 429 && !triedAll)
      return { retry: 'busy', error: refusalOf(status, headers, body, replica.apiKey), mayFallBack: false };
    throw refusalOf(status, headers, body, replica.apiKey);
  }
  return {
    retry: `status-${status}`,
    error: new ApiError(502, `The model server failed with status ${status}.`, { code: 'upstream_error' }),
    mayFallBack: true,
  };
}

const junk = (message: string): AttemptOutcome => ({
  retry: 'junk',
  error: new ApiError(502, message, { code: 'upstream_junk' }),
  mayFallBack: true,
});
