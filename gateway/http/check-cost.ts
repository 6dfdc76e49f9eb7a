import { startOf } from '../../contracts/clean-text';
import { ApiError } from './errors';

/** Fields of model servers by which one request would decide about others. */
const NOT_FOR_CLIENTS = ['priority', 'request_id', 'kv_transfer_params'];

/**
 * The number of answers that a request asks for: each prompt `n` or `best_of` times. Throws ApiError 400 when there are
 * more than `most`, and for fields that are not for clients.
 */
export function countAnswers(fields: Record<string, unknown>, most: number): number {
  const given = (field: string) => fields[field] ?? null;
  for (const param of NOT_FOR_CLIENTS)
    if (given(param) !== null)
      throw new ApiError(400, `${param} is not for clients of this gateway: leave it out.`, { param });
  const times = Math.max(...['n', 'best_of'].map((param) => wholeNumber(param, given(param), most)));
  const prompt = given('prompt');
  const prompts = Array.isArray(prompt) && typeof prompt[0] !== 'number' ? Math.max(prompt.length, 1) : 1;
  if (prompts * times > most)
    throw new ApiError(400, `prompt asks for ${prompts * times} answers; at most ${most} are made at a time.`, {
      param: 'prompt',
    });
  return prompts * times;
}

function wholeNumber(param: string, value: unknown, most: number): number {
  if (value === null) return 1;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new ApiError(400, `${param} must be a whole number from 1 to ${most}, found ${shown(value)}.`, { param });
}

const shown = (value: unknown): string => startOf(JSON.stringify(value), 40);
