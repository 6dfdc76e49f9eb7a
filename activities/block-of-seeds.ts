import type { SeedRanges } from '../contracts/messages/night-stage';

/**
 * Block n of so many tasks begins at `(n - 1) x size` and wraps at the end, so that each has its turn once in a round.
 * @param length tasks from there on, at most all; more than a block reach into the next ones.
 */
export function blockOfSeeds(
  tasks: { start: number; count: number },
  size: number,
  n: number,
  length = size,
): SeedRanges {
  const from = ((n - 1) * size) % tasks.count;
  const first = Math.min(length, tasks.count - from);
  return [
    { start: tasks.start + from, count: first },
    ...(first < length ? [{ start: tasks.start, count: length - first }] : []),
  ];
}
