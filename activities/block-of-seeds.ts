import type { SeedRanges } from '../contracts/messages/night-stage';

/**
 * Block n of so many tasks begins at `(n - 1) x size` and wraps at the end, so that each has its turn once in a round.
 */
export function blockOfSeeds(tasks: { start: number; count: number }, size: number, n: number): SeedRanges {
  const from = ((n - 1) * size) % tasks.count;
  const first = Math.min(size, tasks.count - from);
  return [
    { start: tasks.start + from, count: first },
    ...(first < size ? [{ start: tasks.start, count: size - first }] : []),
  ];
}
