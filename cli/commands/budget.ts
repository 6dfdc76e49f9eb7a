import { pluralise } from '../../contracts/pluralise';
import { dollarsForUse, parseAnalystUse, pricesOf } from '../../contracts/artifacts/analyst-use';
import { dollarsForEnvironment, parseEnvironmentUse, sumOfStages } from '../../contracts/artifacts/environment-use';
import { preparedSpecSchema } from '../../contracts/artifacts/prepared-spec';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import { type BudgetSpec, budgetSpecSchema } from '../../contracts/config/analyst-spec';
import { changeDocument, layout, LocalStore, type ArtifactStore, type StoredDocument } from '../../store';
import type { Context } from '../context';
import { readDamageable } from '../documents';
import { CliError } from '../errors';
import { withTemporal } from '../temporal';
import { readRunState, requireRunning } from '../view/run-state';
import { retryWaits } from '../view/waits';

const DAMAGE_REMEDY = 'Restore it from a backup, or move it away.';

/** Flags of `whet budget`. */
export interface BudgetFlags {
  usd?: number;
  tokens?: number;
  environmentUsd?: number;
  environmentTokens?: number;
}

/**
 * `whet budget RUN [--usd N] [--tokens N] [--environment-usd N] [--environment-tokens N]`: shows the run's spending on
 * the analyst, and on simulated users and judges, and raises or lowers its budget. Work that waits for the budget then
 * continues.
 */
export async function budgetCommand({ settings, out }: Context, runId: string, flags: BudgetFlags): Promise<void> {
  const store = new LocalStore(settings.storeRoot);
  await withTemporal(settings, async ({ client }) => {
    const state = await readRunState(client, runId);
    const setting = settingOf(flags);
    const changes = Object.keys(setting).length > 0;
    if (changes) requireRunning(state, 'so its budget has no effect any more');
    const spec = await specOf(store, runId);
    const before = await currentBudget(store, runId, spec?.budget);
    requirePrices(runId, flags, spec, before);
    const budget = changes ? await setBudget(store, runId, setting, spec?.budget) : before;
    const use = await readKept(store, layout.analystUse(runId), ({ value }) => parseAnalystUse(value).uses, {});
    const prices = pricesOf(spec?.analyst ?? {});
    const kinds = Object.values(use);
    const spent = {
      calls: kinds.reduce((sum, { calls }) => sum + calls, 0),
      tokens: kinds.reduce((sum, { promptTokens, completionTokens }) => sum + promptTokens + completionTokens, 0),
      usd: prices === null ? null : dollarsForUse(use, prices),
    };
    const environment = await environmentSpent(store, runId, budget);
    const woken = changes ? await retryWaits(client, state, (reason) => reason.startsWith('Budget.Spent:')) : [];
    const ofEnvironment = budget.environment ?? {};
    const text = [
      `${runId}: ${amounts(spent)} spent on ${pluralise(spent.calls, 'call')} to the analyst; ` +
        `budget: ${limitsText(budget)}`,
      ...(environment === null && Object.keys(ofEnvironment).length === 0
        ? []
        : [
            `${amounts(environment ?? { tokens: 0, usd: null })} spent on simulated users and judges in ` +
              `${pluralise(environment?.episodes ?? 0, 'episode')}; budget: ${limitsText(ofEnvironment)}`,
          ]),
      ...(woken.length === 0 ? [] : [`goes on: ${woken.join(', ')}`]),
    ];
    out.result({ runId, budget, spent, environment, resumed: woken }, text.join('\n'));
  });
}

/** The limits that the flags set. */
function settingOf({ usd, tokens, environmentUsd, environmentTokens }: BudgetFlags): BudgetSpec {
  const environment = {
    ...(environmentUsd !== undefined && { usd: environmentUsd }),
    ...(environmentTokens !== undefined && { tokens: environmentTokens }),
  };
  return {
    ...(usd !== undefined && { usd }),
    ...(tokens !== undefined && { tokens }),
    ...(Object.keys(environment).length > 0 && { environment }),
  };
}

/** @throws CliError for dollars of a run that has no prices. */
function requirePrices(runId: string, flags: BudgetFlags, spec: AgentSpec | undefined, budget: BudgetSpec): void {
  const refuse = (flag: string, section: string, tokens: string): CliError =>
    new CliError(
      `${flag}: the agent.yaml of ${runId} has no prices, so dollars cannot be counted. Use ${tokens}, or set ` +
        `${section}.pricePerMillionInput and ${section}.pricePerMillionOutput for the next run.`,
      { type: 'Budget.NoPrices' },
    );
  const { usd, environmentUsd } = flags;
  if (usd !== undefined && pricesOf(spec?.analyst ?? {}) === null) throw refuse(`--usd ${usd}`, 'analyst', '--tokens');
  if (environmentUsd !== undefined && pricesOf(budget.environment ?? {}) === null)
    throw refuse(`--environment-usd ${environmentUsd}`, 'budget.environment', '--environment-tokens');
}

/** What simulated users and judges spent; null before the first episode. */
async function environmentSpent(store: ArtifactStore, runId: string, { environment }: BudgetSpec) {
  const key = layout.environmentUse(runId);
  const use = await readKept(store, key, ({ value }) => parseEnvironmentUse(value).uses, {});
  if (Object.keys(use).length === 0) return null;
  const sum = sumOfStages(use);
  return {
    episodes: sum.episodes,
    unknown: sum.unknown,
    tokens: sum.promptTokens + sum.completionTokens,
    usd: dollarsForEnvironment(use, environment),
  };
}

const amounts = ({ tokens, usd }: { tokens: number; usd: number | null }): string =>
  `${tokens} tokens${usd === null ? '' : `, $${usd.toFixed(4)}`}`;

const limitsText = ({ usd, tokens }: Pick<BudgetSpec, 'usd' | 'tokens'>): string =>
  [...(usd === undefined ? [] : [`$${usd}`]), ...(tokens === undefined ? [] : [`${tokens} tokens`])].join(', ') ||
  'none';

async function currentBudget(store: ArtifactStore, runId: string, ofSpec: BudgetSpec | undefined): Promise<BudgetSpec> {
  const set = await readKept(store, layout.budget(runId), ({ value }) => budgetSpecSchema.parse(value), null);
  return set ?? budgetSpecSchema.parse(ofSpec ?? {});
}

/** The content of a document of the run; `absent` if it does not exist. @throws CliError if it is damaged. */
const readKept = <T, A>(
  store: ArtifactStore,
  key: string,
  read: (document: StoredDocument) => T,
  absent: A,
): Promise<T | A> =>
  readDamageable(store.localPath(key), DAMAGE_REMEDY, async () => {
    const document = await store.readDocument(key);
    return document === null ? absent : read(document);
  });

async function setBudget(
  store: ArtifactStore,
  runId: string,
  setting: BudgetSpec,
  ofSpec: BudgetSpec = {},
): Promise<BudgetSpec> {
  const key = layout.budget(runId);
  return readDamageable(store.localPath(key), DAMAGE_REMEDY, () =>
    changeDocument(store, key, (stored) => {
      const before = budgetSpecSchema.parse(stored ?? ofSpec);
      const environment = { ...before.environment, ...setting.environment };
      const budget = { ...before, ...setting, ...(Object.keys(environment).length > 0 && { environment }) };
      return { value: budget, result: budget };
    }),
  );
}

/** The run's frozen spec; undefined before the run has one. */
async function specOf(store: ArtifactStore, runId: string): Promise<AgentSpec | undefined> {
  const name = (await store.list(layout.run(runId))).find((entry) => /^spec-[0-9a-f]{12}\.json$/.test(entry));
  if (name === undefined) return undefined;
  const key = `${layout.run(runId)}/${name}`;
  const prepared = await readDamageable(store.localPath(key), DAMAGE_REMEDY, async () =>
    preparedSpecSchema.parse(JSON.parse(String(await store.getNamed(key)))),
  );
  return prepared.spec;
}
