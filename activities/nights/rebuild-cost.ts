import { z } from 'zod';
import { type AnalystUse, dollarsForUse, pricesOf, withLost } from '../../contracts/artifacts/analyst-use';
import { artifactRefSchema } from '../../contracts/artifacts/artifact-ref';
import type { Remaking } from '../../contracts/artifacts/night';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import type { RegistryVersion } from '../../contracts/artifacts/registry';
import { reusableAdapterSchema } from '../../contracts/artifacts/reuse';
import { runRecordSchema } from '../../contracts/artifacts/run-record';
import { type ArtifactStore, layout } from '../../store';
import { readAnalystUse } from '../analyst/budget-meter';
import { count, plural } from '../html/format';
import { reusableRecords, unlessLost } from '../reuse/reuse-records';

/** The compared part of `dependsOn` in a record of `reuse/<agent>/`. */
const dependsOnSchema = z.looseObject({ baseModel: z.string() });

const adapterSchema = reusableAdapterSchema.extend({
  dependsOn: dependsOnSchema.extend({ environments: z.array(z.object({ sha256: z.string() })) }),
});
const calibrationSchema = z.object({
  dependsOn: dependsOnSchema.extend({ environment: z.string() }),
  detail: artifactRefSchema,
});
const detailSchema = z.object({ rollouts: z.int().nonnegative() });
const manifestSchema = z.object({ completionTokens: z.int().nonnegative() });

type AdapterRecord = z.infer<typeof adapterSchema>;
type CalibrationRecord = z.infer<typeof calibrationSchema>;

/** Kinds of questions in an identification. Environments are reused, so none is written. */
const IDENTIFYING = /^(discover|label)/;

/**
 * Estimated cost of rebuilding a version's adapters for a changed base model. It is the former cost of their
 * calibrations and trainings, and of a first night's identification. Results with the same inputs and today's base
 * model are reused and not counted. Results without a record count as unknown. Null if everything can be reused or
 * nothing is known.
 */
export async function rebuildCost(
  store: ArtifactStore,
  agent: string,
  prepared: PreparedSpec,
  version: RegistryVersion,
): Promise<Remaking | null> {
  const today = prepared.baseModelSha256;
  const adapters = await reusableRecords(store, agent, 'adapter', adapterSchema);
  const calibrations = await reusableRecords(store, agent, 'calibration', calibrationSchema);
  const made = new Set(
    [...adapters, ...calibrations].filter(({ dependsOn }) => dependsOn.baseModel === today).map(contentOf),
  );
  const members = version.adapters.map(({ sha256 }) => adapters.find(({ adapter }) => adapter.sha256 === sha256));
  const lost = members.filter((member) => member === undefined || !made.has(contentOf(member)));
  const trained = lost.flatMap((member) => member ?? []);
  const environments = new Set(members.flatMap((one) => one?.dependsOn.environments.map(({ sha256 }) => sha256) ?? []));
  const calibrated = [...environments]
    .flatMap((sha256) => {
      const isOfVersion = ({ dependsOn }: CalibrationRecord) =>
        dependsOn.environment === sha256 && dependsOn.baseModel === version.baseModelSha256;
      return calibrations.find(isOfVersion) ?? [];
    })
    .filter((record) => !made.has(contentOf(record)));
  if (trained.length + calibrated.length === 0) return null;
  const ofCalibrations = await readEach(store, calibrated, ({ detail }) => detail, detailSchema);
  const ofTrainings = await readEach(store, trained, ({ adapter }) => adapter.manifest, manifestSchema);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const facts: Omit<Remaking, 'sentence'> = {
    version: version.version,
    adapters: lost.length,
    calibrations: calibrated.length,
    environments: environments.size,
    unknown: lost.length - trained.length + calibrated.length - ofCalibrations.length,
    calibrationRollouts: sum(ofCalibrations.map(({ rollouts }) => rollouts)),
    trainingRollouts: sum(trained.map(({ adapter }) => adapter.rollouts)),
    trainingTokens: sum(ofTrainings.map(({ completionTokens }) => completionTokens)),
    trainingMinutes: Math.round(sum(trained.map(({ adapter }) => adapter.seconds)) / 6) / 10,
    identification: await identificationCost(store, agent, version.runId, prepared),
  };
  return { ...facts, sentence: sentenceOf(facts) };
}

/**
 * The inputs of a record without the base model and without the adapter that a training continued. A new base model
 * cannot use that adapter, so its training starts from zero.
 */
const contentOf = ({ dependsOn: { continues: _, ...dependsOn } }: AdapterRecord | CalibrationRecord): string =>
  JSON.stringify({ ...dependsOn, baseModel: null });

/** Reads artifacts; missing and damaged ones are left out. */
async function readEach<R, T>(
  store: ArtifactStore,
  records: readonly R[],
  refOf: (record: R) => z.infer<typeof artifactRefSchema>,
  schema: z.ZodType<T>,
): Promise<T[]> {
  const found: T[] = [];
  for (const record of records) {
    const read = await unlessLost(async () => schema.safeParse(JSON.parse(String(await store.get(refOf(record))))));
    if (read?.success) found.push(read.data);
  }
  return found;
}

/**
 * The cost of identification in the run that made the version, at today's prices. If `whet gc` has removed that run,
 * the result is the whole analyst cost in its record, which includes synthesis.
 */
async function identificationCost(
  store: ArtifactStore,
  agent: string,
  runId: string,
  { spec }: PreparedSpec,
): Promise<Remaking['identification']> {
  const uses = (await unlessLost(() => readAnalystUse(store, runId).catch(ignoreInvalid))) ?? {};
  const asked: AnalystUse = Object.fromEntries(Object.entries(uses).filter(([kind]) => IDENTIFYING.test(kind)));
  const all = Object.values(asked).map(withLost);
  if (all.length > 0) {
    const prices = pricesOf(spec.analyst);
    return {
      calls: all.reduce((sum, { calls }) => sum + calls, 0),
      tokens: all.reduce((sum, use) => sum + use.promptTokens + use.completionTokens, 0),
      usd: prices === null ? null : dollarsForUse(asked, prices),
    };
  }
  const folder = layout.history(agent);
  for (const name of (await store.list(folder)).filter((one) => one.startsWith(`${runId}-`))) {
    const record = await unlessLost(async () =>
      runRecordSchema.safeParse(JSON.parse(String(await store.getNamed(`${folder}/${name}`)))),
    );
    const spend = record?.success ? record.data.figures?.spend : undefined;
    if (spend) return { calls: spend.analystCalls, tokens: spend.analystTokens, usd: spend.usd };
  }
  return null;
}

function ignoreInvalid(error: unknown): null {
  if (error instanceof z.ZodError) return null;
  throw error;
}

function sentenceOf({ version, adapters, calibrations, environments, ...facts }: Omit<Remaking, 'sentence'>): string {
  const { identification, unknown, calibrationRollouts, trainingRollouts, trainingTokens, trainingMinutes } = facts;
  const usd = identification?.usd == null ? '' : `, $${identification.usd.toFixed(2)}`;
  const asked =
    identification === null
      ? ''
      : ` and ${count(identification.calls)} questions to the analyst (${count(identification.tokens)} tokens${usd})`;
  return (
    `The base model has changed: making the ${plural(adapters, 'adapter')} of version ${version} again takes about ` +
    `${count(calibrationRollouts)} rollouts of ${plural(calibrations, 'calibration')}, ${count(trainingRollouts)} of ` +
    `training (${count(trainingTokens)} tokens, ${trainingMinutes} minutes)${asked}` +
    `${unknown > 0 ? `, and what ${unknown} without a record ${unknown === 1 ? 'takes' : 'take'}` : ''}; ${plural(environments, 'environment')} ${environments === 1 ? 'stays' : 'stay'}.`
  );
}
