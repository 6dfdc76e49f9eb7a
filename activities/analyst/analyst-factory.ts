import { randomBytes } from 'node:crypto';
import { log } from '@temporalio/activity';
import { z } from 'zod';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import { createAnalystPool, type AnalystFactory, type ChangeRateState } from '../../llm';
import { checkKeyEndpoint } from '../endpoints/key-endpoints';
import { isDemoAnalyst } from '../endpoints/probe-analyst';
import { changeDocument, layout, type ArtifactStore } from '../../store';
import { BudgetMeter } from './budget-meter';

const secretSchema = z.object({ secret: z.string().min(32) });

/** For this many milliseconds, a failed change of the rate state is repeated. Meanwhile questions wait for it. */
const PATIENCE_MS = 4_000;

/** The rate state of an endpoint as a document of the store, shared by all processes that use the store. */
export const storedRateState =
  (store: ArtifactStore, endpoint: string): ChangeRateState =>
  (change) =>
    changeDocument(store, layout.rate(endpoint), change, PATIENCE_MS);

/** The key of the redaction placeholders' hashes. Each store makes one key, which is never sent anywhere. */
async function redactionSecret(store: ArtifactStore): Promise<string> {
  return changeDocument(store, layout.redactionSecret, (before) => {
    if (before !== undefined) return { result: secretSchema.parse(before).secret };
    const secret = randomBytes(32).toString('hex');
    return { value: { secret }, result: secret };
  });
}

/** Writes to the worker's log. Calls to the analyst are made inside activities, except by benchmarks. */
function warn(sentence: string): void {
  try {
    log.warn(sentence);
  } catch {
    process.emitWarning(sentence);
  }
}

/**
 * Makes the factory of analyst clients. They share a rate limit over all workers, redact the texts that they send, and
 * count against the budget of their run. `demoUrl` is the current address of the demo analyst; null if none is known.
 * `keyEndpoints` are the endpoints that the key is sent to; null: all. They are compared here as well as when a run is
 * prepared, because another worker without this key may have prepared it.
 */
export function createAnalystFactory(
  store: ArtifactStore,
  apiKey: string,
  demoUrl: string | null = null,
  keyEndpoints: readonly string[] | null = null,
): AnalystFactory {
  const pool = createAnalystPool(apiKey, {
    changeRateState: (endpoint) => storedRateState(store, endpoint),
    onRateTrouble: warn,
    redactionSecret: () => redactionSecret(store),
  });
  const meters = new Map<string, BudgetMeter>();
  return (prepared, context) => {
    const analyst = runAnalyst(prepared, demoUrl);
    if (keyEndpoints !== null && analyst.baseUrl !== demoUrl?.replace(/\/+$/, '')) {
      const asked = { field: "The run's analyst", url: analyst.baseUrl, variable: 'OPENAI_API_KEY' };
      checkKeyEndpoint(asked, keyEndpoints, 'Analyst.Unauthorised');
    }
    let meter = meters.get(context.runId);
    if (!meter) {
      meters.set(context.runId, (meter = new BudgetMeter(store, context.runId, prepared.spec)));
      // Only the newest 50 are kept, because a worker serves many runs.
      if (meters.size > 50) meters.delete(meters.keys().next().value as string);
    }
    return meter.metered(pool({ ...prepared, analyst }, context));
  };
}

/**
 * Finds the analyst of a run. If the spec or a variable sets the analyst's address, that address is used. The demo
 * analyst of `whet up` is found where it is now (`demoUrl`, if the worker knows it), because its port may differ after
 * a restart.
 */
function runAnalyst(
  { spec, analyst }: Pick<PreparedSpec, 'spec' | 'analyst'>,
  demoUrl: string | null,
): PreparedSpec['analyst'] {
  // A worker that asks nobody but the demo analyst has frozen its address in place of that in the spec.
  const isNamed = analyst.baseUrl === spec.analyst.baseUrl?.replace(/\/+$/, '');
  const isOurs = !isNamed && isDemoAnalyst(analyst.displayName);
  return isOurs && demoUrl !== null ? { ...analyst, baseUrl: demoUrl.replace(/\/+$/, '') } : analyst;
}
