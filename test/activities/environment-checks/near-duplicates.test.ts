// Tier: unit.
import { agentSpecSchema } from '../../../contracts/config/agent-spec';
import { nearDuplicates, taskSpace } from '../../../activities/environment-checks/near-duplicates';
import type { EnvironmentTask } from '../../../activities/environment-checks/environment-task';
import { CHECK_LIMITS } from '../../../activities/environment-checks/limits';

const task = (seed: number, content: string, answer: string): EnvironmentTask => ({
  seed,
  messages: [{ role: 'user', content }],
  reference: [{ name: 'reply', arguments: { text: answer } }],
  skillCalls: [0],
});
const WORDS = 'amber birch cedar daisy elder fern grape hazel iris jute kale lotus maple nettle olive poppy'.split(' ');
const different = WORDS.map((word, i) =>
  task(i, `please water the ${word} behind the ${WORDS[(i + 5) % 16]}`, `${word} watered`),
);

test('tasks that share a frame only are no duplicates', () => {
  expect(nearDuplicates(different)).toEqual([]);
});

test('a running number, punctuation and capitals do not make another task', () => {
  const again = task(99, 'Please, water the amber behind the FERN!', 'amber watered');
  const numbered = (seed: number, n: number) =>
    task(seed, `ticket ${n}: please prune the olive before noon`, 'olive pruned');
  expect(nearDuplicates([...different, again, numbered(100, 17), numbered(101, 18)])).toEqual([
    [99, 0],
    [101, 100],
  ]);
});

test('a number that the solution uses does make another task', () => {
  const sum = (seed: number, n: number) => task(seed, `what is ${n} plus one`, String(n + 1));
  expect(nearDuplicates([...different, sum(100, 17), sum(101, 18)]).length).toBe(0);
});

test('the same task for every seed is all duplicates', () => {
  expect(nearDuplicates(Array.from({ length: 10 }, (_, i) => task(i, 'water the amber', 'done')))).toHaveLength(9);
});

test("the space of tasks is estimated by Chao's bound", () => {
  expect(taskSpace(Array.from({ length: 200 }, (_, i) => String(i)))).toBe(200 + (200 * 199) / 2);
  expect(taskSpace(Array.from({ length: 200 }, (_, i) => String(i % 12)))).toBe(12);
});

test('the fewest tasks that agent.yaml may ask for suffice to show that there are enough', () => {
  const certificate = agentSpecSchema.shape.certificate;
  const different = (count: number) => taskSpace(Array.from({ length: count }, (_, i) => `task ${i}`));
  const fewest = Array.from({ length: 200 }, (_, i) => i).find(
    (count) => different(count) >= CHECK_LIMITS.minTaskSpace,
  )!;
  expect(certificate.parse({ diversitySeeds: fewest })).toMatchObject({ diversitySeeds: fewest });
  expect(certificate.safeParse({ diversitySeeds: fewest - 1 }).success).toBe(false);
});
