import { request } from 'undici';
import { z } from 'zod';
import { fnv1a } from '../../contracts/routing/fnv1a';
import { readText } from '../upstream/read-text';

/** Turns texts into vectors of length 1. The more similar two texts, the larger their inner product. */
export type Embed = (texts: readonly string[], signal: AbortSignal) => Promise<Float32Array[]>;

const DIMENSIONS = 512;

/** Vectors of hashed counts of words and word pairs. They need no model, and compare words instead of meaning. */
export const lexicalEmbed: Embed = (texts) => Promise.resolve(texts.map(lexicalVector));

function lexicalVector(text: string): Float32Array {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const vector = new Float32Array(DIMENSIONS);
  words.forEach((word, i) => {
    for (const feature of i === 0 ? [word] : [word, `${words[i - 1]} ${word}`]) {
      const at = fnv1a(feature) % DIMENSIONS;
      vector[at] = (vector[at] as number) + 1;
    }
  });
  // A word that occurs ten times does not say ten times as much.
  return normalised(vector.map(Math.sqrt));
}

function normalised(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  return length === 0 ? vector : vector.map((value) => value / length);
}

const answerSchema = z.object({ data: z.array(z.object({ index: z.number().int(), embedding: z.array(z.number()) })) });
const BATCH = 64;
/** Most bytes of the vectors of a batch: 64 of 16,384 numbers with 20 digits. */
const MOST_VECTOR_BYTES = 24_000_000;

/** Vectors from an OpenAI-compatible embeddings endpoint. Rejects when it does not return one vector for each text. */
export function endpointEmbed({ baseUrl, model }: { baseUrl: string; model: string }, apiKey: string | null): Embed {
  return async (texts, signal) => {
    const vectors: Float32Array[] = [];
    for (let start = 0; start < texts.length; start += BATCH) {
      const input = texts.slice(start, start + BATCH);
      const { statusCode, body } = await request(`${baseUrl.replace(/\/$/, '')}/embeddings`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
        },
        body: JSON.stringify({ model, input }),
        signal,
      });
      const text = await readText(body, MOST_VECTOR_BYTES);
      if (statusCode !== 200) throw new Error(`The embeddings endpoint answered with status ${statusCode}.`);
      const found = answerSchema.parse(JSON.parse(text)).data.sort((a, b) => a.index - b.index);
      if (found.length !== input.length)
        throw new Error(`The embeddings endpoint returned ${found.length} vectors for ${input.length} texts.`);
      vectors.push(...found.map(({ embedding }) => normalised(Float32Array.from(embedding))));
    }
    return vectors;
  };
}
