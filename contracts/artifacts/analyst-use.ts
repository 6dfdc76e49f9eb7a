import { z } from 'zod';

const count = z.int().nonnegative();

/** The use of one kind of analyst call. */
const callUseSchema = z.strictObject({
  calls: count.describe('Questions that were answered or given up.'),
  asks: count.describe('Answers that were billed: 1 for each question plus re-asks.'),
  tries: count.describe('Requests that were sent: asks plus repetitions after failures.'),
  promptTokens: count.describe('Tokens sent.'),
  cachedTokens: count.describe("Of those, from the endpoint's prefix cache."),
  completionTokens: count.describe('Tokens received.'),
  unanswered: count.describe('Questions without a valid answer after all re-asks.'),
  shortened: count.describe('Questions whose episode was shortened to fit the context.'),
  redacted: z.record(z.string(), count).describe('Places in prompts where a value was replaced, by rule.'),
  lost: count
    .optional()
    .describe('Requests whose answer did not come in time; the endpoint may have billed them. Absent: none.'),
  lostPromptTokens: count.optional().describe('Tokens sent in lost requests, estimated from their length.'),
});
export type CallUse = z.infer<typeof callUseSchema>;

/** A run's use of the analyst, by kind of call (`discover`, `label`, `synthesise`). */
export const analystUseSchema = z.record(z.string(), callUseSchema);
export type AnalystUse = z.infer<typeof analystUseSchema>;

/** The schema of a document in which all workers of a run add up a use. */
export const documentOfUses = <Uses extends z.ZodType>(uses: Uses) =>
  z.strictObject({
    uses,
    /** For each segment with recorded lines: how many of them are already in `uses`. */
    counted: z.record(z.string(), count),
  });

const analystUseDocumentSchema = documentOfUses(analystUseSchema);

/** Reads the stored document; null and undefined mean that there is none. Throws ZodError for any other content. */
export function parseAnalystUse(stored: unknown): z.infer<typeof analystUseDocumentSchema> {
  return analystUseDocumentSchema.parse(stored ?? { uses: {}, counted: {} });
}

/** The share of the full price that a call through the Batch API costs (OpenAI's discount). */
export const BATCH_PRICE = 0.5;

/** US dollars for a million tokens; null where agent.yaml has no prices. */
export interface AnalystPrices {
  input: number;
  cachedInput: number;
  output: number;
}

/** The prices of a section of agent.yaml; null if it has none. */
export function pricesOf(spec: {
  pricePerMillionInput?: number;
  pricePerMillionCachedInput?: number;
  pricePerMillionOutput?: number;
}): AnalystPrices | null {
  const { pricePerMillionInput: input, pricePerMillionCachedInput: cachedInput, pricePerMillionOutput: output } = spec;
  if (input === undefined && output === undefined) return null;
  return { input: input ?? 0, cachedInput: cachedInput ?? input ?? 0, output: output ?? 0 };
}

/** The kinds of Batch API calls end with this suffix. */
export const BATCH_KIND = '-batch';

/** The use, with the tokens of lost requests counted as sent, because they may have been billed. */
export const withLost = (use: CallUse): CallUse => ({
  ...use,
  promptTokens: use.promptTokens + (use.lostPromptTokens ?? 0),
});

/** US dollars for all calls of a run, including lost requests. */
export function dollarsForUse(use: AnalystUse, prices: AnalystPrices): number {
  return Object.entries(use).reduce(
    (sum, [kind, tokens]) => sum + dollarsFor(withLost(tokens), prices) * (kind.endsWith(BATCH_KIND) ? BATCH_PRICE : 1),
    0,
  );
}

/** US dollars for tokens at the full price; `cachedTokens` are part of `promptTokens`. */
export function dollarsFor(
  use: { promptTokens: number; cachedTokens: number; completionTokens: number },
  prices: AnalystPrices,
): number {
  const fresh = use.promptTokens - use.cachedTokens;
  return (
    (fresh * prices.input + use.cachedTokens * prices.cachedInput + use.completionTokens * prices.output) / 1_000_000
  );
}
