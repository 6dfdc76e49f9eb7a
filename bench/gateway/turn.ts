import { type LoadRequest, timeSequentially, type Timing } from './load-generator';
import type { Target } from './targets';

/**
 * The times of a target's turn of `count` requests, one after another. The first request of each connection is left
 * out, because it opens it; a target with episodes has a connection for each.
 */
export async function takeTurn(
  { origin, episodes }: Pick<Target, 'origin' | 'episodes'>,
  request: LoadRequest,
  isStream: boolean,
  count: number,
): Promise<Timing[]> {
  const timings: Timing[] = [];
  const most = episodes?.requests ?? count;
  for (let left = count; left > 0; left -= most) {
    const headers = { ...request.headers, ...(await episodes?.open()) };
    const part = await timeSequentially(origin, { ...request, headers }, isStream, Math.min(most, left));
    timings.push(...part.slice(1));
  }
  return timings;
}
