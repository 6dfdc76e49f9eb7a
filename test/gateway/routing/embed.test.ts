// tier: unit
import { lexicalEmbed } from '../../../gateway/routing/embed';

test('lexical vectors: texts that share words are more similar', async () => {
  const [a, b, c] = await lexicalEmbed(
    ['refund order 7 please', 'please refund the order 9', 'what is the weather'],
    new AbortController().signal,
  );
  const similarity = (x: Float32Array, y: Float32Array) => x.reduce((sum, value, i) => sum + value * y[i]!, 0);
  expect(similarity(a!, b!)).toBeGreaterThan(similarity(a!, c!) + 0.2);
  expect(similarity(a!, a!)).toBeCloseTo(1);
});
