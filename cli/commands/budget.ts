import { pluralise } from '../../contracts/pluralise';
import { parseAnalystUse, dollarsForUse, pricesOf } from '../../contracts/artifacts/analyst-use';
import { preparedSpecSchema } from '../../contracts/artifacts/prepared-spec';
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
}

/**
 * `whet budget RUN [--usd N] [--tokens N]`: shows the run's spending, and raises or lowers its budget. Work that waits
 * for the budget then continues.
 */
export async function budgetCommand(
  { settings, out }: Context,
  runId: string,
  { usd, tokens }: BudgetFlags,
): Promise<void> {
  const store = new LocalStore(settings.storeRoot);
  await withTemporal(settings, async ({ client }) => {
    const state = await readRunState(client, runId);
    const setting: BudgetSpec = { ...(usd === undefined ? {} : { usd }), ...(tokens === undefined ? {} : { tokens }) };
    const changes = Object.keys(setting).length > 0;
    if (changes) requireRunning(state, 'so its budget has no effect any more');
    const prices = await pricesOfRun(store, runId);
    if (usd !== undefined && prices === null) {
      throw new CliError(
        `--usd ${usd}: the agent.yaml of ${runId} has no prices, so dollars cannot be counted. Use --tokens, or set ` +
          'analyst.pricePerMillionInput and analyst.pricePerMillionOutput for the next run.',
        { type: 'Budget.NoPrices' },
      );
    }
    const budget = changes ? await setBudget(store, runId, setting) : await currentBudget(store, runId);
    const use = await readKept(store, layout.analystUse(runId), ({ value }) => parseAnalystUse(value).uses, {});
    const kinds = Object.values(use);
    const spent = {
      calls: kinds.reduce((sum, { calls }) => sum + calls, 0),
      tokens: kinds.reduce((sum, { promptTokens, completionTokens }) => sum + promptTokens + completionTokens, 0),
      usd: prices === null ? null : dollarsForUse(use, prices),
    };
    const woken = changes ? await retryWaits(client, state, (reason) => reason.startsWith('Budget.Spent:')) : [];
    const limits = [
      ...(budget.usd === undefined ? [] : [`$${budget.usd}`]),
      ...(budget.tokens === undefined ? [] : [`${budget.tokens} tokens`]),
    ];
    const text = [
      `${runId}: ${spent.tokens} tokens${spent.usd === null ? '' : `, $${spent.usd.toFixed(4)}`} spent ` +
        `on ${pluralise(spent.calls, 'call')} to the analyst; budget: ${limits.join(', ') || 'none'}`,
      ...(woken.length === 0 ? [] : [`goes on: ${woken.join(', ')}`]),
    ];
    out.result({ runId, budget, spent, resumed: woken }, text.join('\n'));
  });
}

async function currentBudget(store: ArtifactStore, runId: string): Promise<BudgetSpec> {
  const set = await readKept(store, layout.budget(runId), ({ value }) => budgetSpecSchema.parse(value), null);
  return set ?? budgetSpecSchema.parse((await specOf(store, runId))?.spec.budget ?? {});
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

async function setBudget(store: ArtifactStore, runId: string, setting: BudgetSpec): Promise<BudgetSpec> {
  const key = layout.budget(runId);
  const ofSpec = (await specOf(store, runId))?.spec.budget ?? {};
  return readDamageable(store.localPath(key), DAMAGE_REMEDY, () =>
    changeDocument(store, key, (before) => {
      const budget: BudgetSpec = { ...budgetSpecSchema.parse(before ?? ofSpec), ...setting };
      return { value: budget, result: budget };
    }),
  );
}

const pricesOfRun = async (store: ArtifactStore, runId: string) =>
  pricesOf((await specOf(store, runId))?.spec.analyst ?? {});

/** The run's frozen spec; null before the run has one. */
async function specOf(store: ArtifactStore, runId: string) {
  const name = (await store.list(layout.run(runId))).find((entry) => /^spec-[0-9a-f]{12}\.json$/.test(entry));
  if (name === undefined) return null;
  const key = `${layout.run(runId)}/${name}`;
  return readDamageable(store.localPath(key), DAMAGE_REMEDY, async () =>
    preparedSpecSchema.parse(JSON.parse(String(await store.getNamed(key)))),
  );
}
