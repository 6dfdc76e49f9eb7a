import type { SeedRanges } from '../contracts/messages/night-stage';

/**
 * Block n starts at task `(n - 1) x size`, modulo the number of tasks, so each task has its turn once in a round.
 * @param length number of tasks from there on, at most all; a larger number than a block includes tasks of the next
 *   blocks.
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
