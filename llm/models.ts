import OpenAI from 'openai';
import { toAnalystFailure } from './errors';
import { createTransport } from './transport';

/** A model that an endpoint serves. */
export interface ServedModel {
  id: string;
  /** What the endpoint says about its owner; the demo analyst says here what it is. */
  ownedBy: string;
}

/**
 * Models that an OpenAI-compatible endpoint serves, for a check before a run begins. Throws the failures of `toAnalystFailure`; an
 * endpoint without GET /models gives Analyst.BadRequest, which says nothing about its completions.
 */
export async function listModels({ baseUrl, apiKey, timeoutMs = 10_000 }: { baseUrl: string; apiKey: string; timeoutMs?: number }): Promise<ServedModel[]> {
  const client = new OpenAI({ baseURL: baseUrl, apiKey, timeout: timeoutMs, maxRetries: 0, logLevel: 'off', fetch: createTransport(baseUrl, 1) });
  try {
    const { data } = await client.models.list();
    return data.map(({ id, owned_by }) => ({ id, ownedBy: owned_by }));
  } catch (error) {
    throw toAnalystFailure(error, { endpoint: baseUrl, model: 'any' });
  }
}
