import { z } from 'zod';
import type { EnvironmentBudget } from '../config/analyst-spec';
import { documentOfUses, dollarsFor, pricesOf } from './analyst-use';

/** Most tokens of one episode, so that the sum of many stays exact. */
const MOST_TOKENS = 1_000_000_000;
const tokens = z.int().nonnegative().max(MOST_TOKENS);

/** Tokens that the simulated user and the judge of an episode spent. */
export const environmentTokensSchema = z.strictObject({ promptTokens: tokens, completionTokens: tokens });
export type EnvironmentTokens = z.infer<typeof environmentTokensSchema>;

const count = z.int().nonnegative();

/** What a stage spent on simulated users and judges. */
const stageUseSchema = z.strictObject({
  episodes: count.describe('Episodes that were played or opened. Each try of one that failed counts.'),
  unknown: count.describe('Of those, episodes that did not say what they spent. Their tokens are not counted.'),
  promptTokens: count.describe('Tokens sent.'),
  completionTokens: count.describe('Tokens received.'),
});

/** A run's use of simulated users and judges, by stage. */
export const environmentUseSchema = z.record(z.string(), stageUseSchema);
export type EnvironmentUse = z.infer<typeof environmentUseSchema>;

const documentSchema = documentOfUses(environmentUseSchema);

/** Reads the stored document; null and undefined mean that there is none. Throws ZodError for any other content. */
export const parseEnvironmentUse = (stored: unknown): z.infer<typeof documentSchema> =>
  documentSchema.parse(stored ?? { uses: {}, counted: {} });

/** The use of one episode. @param spent null: the episode did not say it. */
export const useOfEpisode = (stage: string, spent: EnvironmentTokens | null): EnvironmentUse => ({
  [stage]: { episodes: 1, unknown: spent === null ? 1 : 0, promptTokens: 0, completionTokens: 0, ...spent },
});

/** The use of all stages together. */
export function sumOfStages(use: EnvironmentUse): EnvironmentUse[string] {
  const sum = { episodes: 0, unknown: 0, promptTokens: 0, completionTokens: 0 };
  for (const stage of Object.values(use))
    for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += stage[name];
  return sum;
}

/** US dollars for all stages together; null where agent.yaml has no prices for them. */
export function dollarsForEnvironment(use: EnvironmentUse, prices: EnvironmentBudget = {}): number | null {
  const known = pricesOf(prices);
  return known === null ? null : dollarsFor({ ...sumOfStages(use), cachedTokens: 0 }, known);
}
