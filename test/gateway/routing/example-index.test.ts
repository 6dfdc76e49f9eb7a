// tier: unit
import { lexicalEmbed } from '../../../gateway/routing/embed';
import { ExampleIndex } from '../../../gateway/routing/example-index';
import type { Example } from '../../../gateway/routing/read-examples';
import { versionOf } from '../gateway-fixture';

const EXAMPLES: Example[] = [
  { capabilityId: 'weigh', task: 'how heavy is the parcel' },
  { capabilityId: 'stamp', task: 'put postage on the letter' },
  { capabilityId: 'weigh', task: 'how heavy is the heavy letter' },
];
const signal = new AbortController().signal;

it('finds the examples most similar to a task, once they are prepared, and reads each version once', async () => {
  let reads = 0;
  const index = new ExampleIndex(async () => {
    reads += 1;
    return EXAMPLES;
  }, lexicalEmbed);
  const version = versionOf(1, 'weigh', 'stamp');
  expect(await index.nearest(version, 'how heavy is it', 2, signal)).toEqual([]);
  await index.prepare(version);
  expect(await index.nearest(version, 'how heavy is it', 2, signal)).toEqual([EXAMPLES[0], EXAMPLES[2]]);
  expect(reads).toBe(1);
});

it('finds nothing in a version without examples, and does not embed the task', async () => {
  const embedded: (readonly string[])[] = [];
  const index = new ExampleIndex(
    async () => [],
    (texts, stop) => (embedded.push(texts), lexicalEmbed(texts, stop)),
  );
  const version = versionOf(1, 'weigh');
  await index.prepare(version);
  expect(await index.nearest(version, 'a task', 2, signal)).toEqual([]);
  expect(embedded).toEqual([[]]);
});
