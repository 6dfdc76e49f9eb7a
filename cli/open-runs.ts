import { dirname, resolve } from 'node:path';
import type { Client } from '@temporalio/client';
import { type PreparedSpec, preparedSpecSchema } from '../contracts/artifacts/prepared-spec';
import { layout, LocalStore } from '../store';
import { newestIn } from './documents';
import { CliError } from './errors';
import type { Settings } from './settings';
import type { Plan } from './supervisor/plan';
import { askTemporal } from './probe-temporal';
import { OPEN_RUNS } from './view/run-state';

/** A run that has begun and not ended, with the inputs that it froze at its beginning. */
export interface OpenRun {
  runId: string;
  /** Path of the agent.yaml that it was started with; null if its memo does not say. */
  specPath: string | null;
  /** Seed of the model that was served at its start; null if its memo does not say. */
  modelSeed: number | null;
  prepared: PreparedSpec;
}

/** An open run that cannot continue with the planned services, and why. */
interface Stranded {
  runId: string;
  reason: string;
  /** How to start the missing services. */
  remedy: string;
}

/**
 * Refuses a start that would leave open runs of this state directory without their model or analyst. Their activities
 * would notice and wait, but here the user can still choose.
 * @throws CliError `Up.OpenRuns` (exit 2) that names the runs and the choices.
 */
export async function refuseToStrandRuns(settings: Settings, plan: Plan): Promise<void> {
  const open = await askTemporal(plan, (client) => openRuns(client, new LocalStore(settings.storeRoot)));
  const stranded = (open ?? []).flatMap((run) => strandedBy(plan, settings, run) ?? []);
  if (stranded.length === 0) return;
  const remedies = [...new Set(stranded.map(({ remedy }) => remedy))];
  throw new CliError(
    [
      stranded.length === 1
        ? 'An open run could not go on with these services:'
        : `${stranded.length} open runs could not go on with these services:`,
      ...stranded.map(({ runId, reason }) => `  ${runId}: ${reason}`),
      'Choose one:',
      ...remedies.map((remedy) => `  go on with it: ${remedy}`),
      '  keep the new run apart: another state directory (WHET_HOME=DIR)',
      '  start all the same: --ignore-open-runs. The runs above then wait, and lose nothing, until their model or ' +
        'analyst is there again; `whet cancel RUN` ends one for good.',
    ].join('\n'),
    { type: 'Up.OpenRuns' },
  );
}

/** Open improvement runs whose frozen spec is in this store. Runs of other stores have their own workers. */
async function openRuns(client: Client, store: LocalStore): Promise<OpenRun[]> {
  const found: OpenRun[] = [];
  for await (const { workflowId: runId, memo } of client.workflow.list({ query: OPEN_RUNS })) {
    const prepared = await frozenSpec(store, runId);
    if (prepared === null) continue;
    const { specPath, modelSeed } = memo ?? {};
    found.push({
      runId,
      specPath: typeof specPath === 'string' ? specPath : null,
      modelSeed: typeof modelSeed === 'number' ? modelSeed : null,
      prepared,
    });
  }
  return found;
}

/** The newest frozen spec of a run; null if it has none yet, or if it is of another version. */
async function frozenSpec(store: LocalStore, runId: string): Promise<PreparedSpec | null> {
  const key = await newestIn(store, layout.run(runId), /^(amended-)?spec-.*\.json$/);
  const read = key === null ? null : await store.getNamed(key).catch(() => null);
  if (read === null) return null;
  return preparedSpecSchema.safeParse(JSON.parse(read.toString('utf8'))).data ?? null;
}

/** Why an open run could not continue with the services of a plan; null if it could, or if that is unknown. */
export function strandedBy(
  plan: Pick<Plan, 'model' | 'analyst' | 'agentPath'>,
  settings: Pick<Settings, 'analystConfigured'>,
  run: OpenRun,
): Stranded | null {
  const model = otherModel(plan, run);
  const agent = run.specPath ?? 'its agent.yaml';
  if (model !== null) {
    const seed = run.modelSeed === null ? '' : ` --seed ${run.modelSeed}`;
    return {
      runId: run.runId,
      reason: model,
      remedy: `whet demo ${agent}${seed}, or with \`whet up\` as it was up then`,
    };
  }
  const { displayName, baseUrl } = run.prepared.analyst;
  if (run.prepared.spec.analyst.baseUrl !== undefined) return null;
  const isDemo = displayName.startsWith('demo analyst');
  if (isDemo && plan.analyst === null && plan.agentPath !== null)
    return {
      runId: run.runId,
      reason: `it began with the ${displayName}, which these services leave out`,
      remedy: 'unset OPENAI_API_KEY and OPENAI_BASE_URL, then the same command',
    };
  if (!isDemo && !settings.analystConfigured)
    return {
      runId: run.runId,
      reason: `it began with the analyst ${displayName} (${baseUrl}), for which no key is set now`,
      remedy: 'set OPENAI_API_KEY (and OPENAI_BASE_URL) as they were, then the same command',
    };
  return null;
}

/** The reason why a plan's policy server has another model than the run; null if it has the same model, or may have. */
function otherModel({ model }: Pick<Plan, 'model'>, { prepared, specPath, modelSeed }: OpenRun): string | null {
  const { spec } = prepared;
  const { path } = spec.model;
  // A run that trains nothing does not read the directory, but the policy server does.
  const named = path === undefined || specPath === null ? null : resolve(dirname(specPath), path);
  const modelPath = prepared.modelPath ?? named;
  // A run with its own model address needs no policy server. Without any policy server it waits for one.
  if (spec.model.baseUrl !== undefined || model === null) return null;
  const { source, servedName } = model;
  if (servedName !== spec.model.name)
    return `it began with the model ${spec.model.name}, and these services would serve ${servedName}`;
  const kind = (isVllm: boolean) => (isVllm ? 'a vLLM' : 'the embedded policy server');
  if ((spec.model.server === 'vllm') !== (model.vllm !== null))
    return `it began with ${kind(model.vllm === null)}, and these services would have ${kind(model.vllm !== null)}`;
  if (source.kind === 'directory')
    return modelPath === null || source.path === modelPath
      ? null
      : `it began with the model in ${modelPath}, and these services would serve that in ${source.path}`;
  if (spec.model.recipe === undefined)
    return `it began with the model in ${modelPath ?? path}, not with one of a recipe`;
  const script = specPath === null ? source.script : resolve(dirname(specPath), spec.model.recipe);
  if (script !== source.script || String(spec.model.recipeArguments) !== String(source.arguments))
    return `it began with a model of another recipe (${[script, ...spec.model.recipeArguments].join(' ')})`;
  return modelSeed === null || modelSeed === source.seed
    ? null
    : `it began with the model of seed ${modelSeed}, and these services would serve that of seed ${source.seed}`;
}
