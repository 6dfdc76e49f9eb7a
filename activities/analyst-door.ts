import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { analystPool, type AnalystSource, type RateBoard } from '../llm';
import { layout, StoreConflictError, type ArtifactStore } from '../store';
import { Meter } from './meter';

const secretSchema = z.object({ secret: z.string().min(32) });

/** A rate board in the store: right for every process that shares the store, on one machine or several. */
export function storeRateBoard(store: ArtifactStore, endpoint: string): RateBoard {
  const key = layout.rate(endpoint);
  return {
    read: () => store.readDocument(key),
    async swap(value, expected) {
      try {
        await store.swapDocument(key, value, expected);
        return true;
      } catch (error) {
        if (error instanceof StoreConflictError) return false;
        throw error;
      }
    },
  };
}

/** The secret that placeholders are made with; made once for a store, and never sent anywhere. */
export async function redactionSecret(store: ArtifactStore): Promise<string> {
  for (;;) {
    const document = await store.readDocument(layout.redactionSecret);
    if (document !== null) return secretSchema.parse(document.value).secret;
    await store
      .swapDocument(layout.redactionSecret, { secret: randomBytes(32).toString('hex') }, null)
      .catch((error: unknown) => {
        if (!(error instanceof StoreConflictError)) throw error;
      });
  }
}

/**
 * Analysts whose calls keep a rate that all workers share, leave without what must not leave, and count against their
 * run's budget.
 */
export function openAnalysts(store: ArtifactStore, apiKey: string): AnalystSource {
  const pool = analystPool(apiKey, {
    rateBoard: (endpoint) => storeRateBoard(store, endpoint),
    redactionSecret: () => redactionSecret(store),
  });
  const meters = new Map<string, Meter>();
  return (prepared, context) => {
    let meter = meters.get(context.runId);
    if (!meter) {
      meters.set(context.runId, (meter = new Meter(store, context.runId, prepared.spec)));
      // A run's meter is needed while it runs; a worker sees many runs.
      if (meters.size > 50) meters.delete(meters.keys().next().value as string);
    }
    return meter.around(pool(prepared, context));
  };
}
