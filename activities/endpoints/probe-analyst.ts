import { request } from 'undici';
import { z } from 'zod';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import { failure } from '../../contracts/typed-failure';
import type { ResolvedEndpoints } from './resolve-endpoints';

/** Whether a model's name belongs to a rule-based demo analyst. */
export const isDemoAnalyst = (name: string): boolean => name.startsWith('demo analyst');

const TIMEOUT_MS = 15_000;
const cardsSchema = z.object({ data: z.array(z.object({ id: z.string(), owned_by: z.string().optional() })).min(1) });

/**
 * Asks the analyst's endpoint for its list of models. This is free and shows whether address and key are right. An
 * endpoint without such a list is accepted if analyst.model is set.
 * @returns the analyst as the run uses it. The demo analyst is recognised by `owned_by` and shown under that name.
 * @throws Analyst.Unauthorised; Analyst.Unavailable, retryable.
 */
export async function probeAnalyst(
  { analystBaseUrl: baseUrl, analystModel }: ResolvedEndpoints,
  apiKey: string | null,
  signal?: AbortSignal,
): Promise<PreparedSpec['analyst']> {
  const cards = await listModels(baseUrl, apiKey, signal);
  const card = analystModel === null ? cards[0] : cards.find(({ id }) => id === analystModel);
  const model = analystModel ?? card?.id;
  if (model === undefined)
    throw failure(
      'Analyst.Unavailable',
      `The analyst at ${baseUrl} offers no model. Check that it is what its address says.`,
    );
  const isDemo = card?.owned_by !== undefined && isDemoAnalyst(card.owned_by);
  return { baseUrl, model, displayName: isDemo ? card.owned_by! : `${model} at ${new URL(baseUrl).host}` };
}

async function listModels(
  baseUrl: string,
  apiKey: string | null,
  signal?: AbortSignal,
): Promise<{ id: string; owned_by?: string | undefined }[]> {
  let status: number;
  let text: string;
  try {
    const answer = await request(`${baseUrl}/models`, {
      headers: apiKey === null ? {} : { authorization: `Bearer ${apiKey}` },
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
      ...(signal ? { signal } : {}),
    });
    status = answer.statusCode;
    text = await answer.body.text();
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    const { code, message } = error as NodeJS.ErrnoException;
    throw failure(
      'Analyst.Unavailable',
      `The analyst at ${baseUrl} did not answer (${code ?? message}). Start it (\`whet up\`), or correct ` +
        'analyst.baseUrl or OPENAI_BASE_URL.',
      { cause: error as Error },
    );
  }
  if (status === 401 || status === 403) {
    throw failure(
      'Analyst.Unauthorised',
      `The analyst at ${baseUrl} refused the API key (${status}): set OPENAI_API_KEY of the worker to one that it ` +
        'accepts.',
    );
  }
  if (status === 408 || status === 429 || status >= 500)
    throw failure('Analyst.Unavailable', `The analyst at ${baseUrl} answered ${status} when asked for its models.`);
  try {
    return cardsSchema.parse(JSON.parse(text)).data;
  } catch {
    return [];
  }
}
