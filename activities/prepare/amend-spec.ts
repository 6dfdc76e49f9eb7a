import { dirname, resolve } from 'node:path';
import { Context } from '@temporalio/activity';
import { type PreparedSpec, preparedSpecSchema } from '../../contracts/artifacts/prepared-spec';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import type { AmendedSpec, AmendSpecInput } from '../../contracts/messages/run';
import { AgentSpecError, loadAgentSpec, printsTasks } from '../../loaders/agent-spec';
import { failure } from '../../contracts/typed-failure';
import type { WorkerPolicy } from '../../contracts/config/operator-policy';
import { refusedByPolicy } from '../../k8s/refused-by-policy';
import { startOf } from '../../contracts/clean-text';
import { type ArtifactStore, layout, putJson } from '../../store';
import { probeAnalyst } from '../endpoints/probe-analyst';
import { type KnownEndpoints, resolveEndpoints } from '../endpoints/resolve-endpoints';
import { webhookProblem, type WebhookSettings } from '../endpoints/webhook-target';
import { readPreparedSpec } from '../prepared-spec';
import { waitDeadlines } from '../wait-deadlines';

/**
 * Fields of agent.yaml that a run applies while it waits, each with all its subfields: the addresses of its endpoints
 * and trainers, their resources, the lengths of waits, and the receivers of notices. All other fields say what the run
 * measures, and stay frozen.
 */
const AMENDABLE_FIELDS = [
  'model.baseUrl',
  'model.timeoutSeconds',
  'analyst.baseUrl',
  'analyst.model',
  'analyst.mode',
  'analyst.concurrency',
  'analyst.requestsPerMinute',
  'analyst.tokensPerMinute',
  'analyst.timeoutSeconds',
  'analyst.maxReasks',
  'analyst.maxPromptTokens',
  'analyst.pricePerMillionInput',
  'analyst.pricePerMillionCachedInput',
  'analyst.pricePerMillionOutput',
  'budget',
  'collect.concurrency',
  'evaluation.concurrency',
  'training.kubernetes',
  'training.threads',
  'training.checkpointEvery',
  'training.samplerUrl',
  'training.packing',
  'training.packingWaitSeconds',
  'gate.approvalDeadlineHours',
  'schedule',
  'notify',
] as const;

/**
 * Flags of `whet run` replace these fields when a run starts, so the frozen value says nothing about the value in the
 * file.
 */
const SET_AT_START: readonly string[] = ['seed', 'identify.arm', 'identify.ablations'];

interface Difference {
  path: string;
  before: unknown;
  after: unknown;
}

/** Dependencies of `amendSpec`. */
interface AmendDeps {
  store: ArtifactStore;
  endpoints: KnownEndpoints;
  webhook: Pick<WebhookSettings, 'endpoints'>;
  operatorPolicy: WorkerPolicy;
}

/**
 * Activity: freezes a waiting run's spec again, with the changes of a corrected agent.yaml. The earlier one stays in
 * the store.
 * @throws Spec.NotAllowed.
 * @throws Spec.Invalid for a file that cannot be used, and for changes of other fields than AMENDABLE_FIELDS.
 */
export async function amendSpec(
  { store, endpoints, webhook, operatorPolicy }: AmendDeps,
  { context, specPath }: AmendSpecInput,
): Promise<AmendedSpec> {
  const before = await readPreparedSpec(store, context.spec);
  const file = withTasksOf(before.spec, readSpec(specPath));
  const changes = differences(before.spec, file).filter(({ path }) => !SET_AT_START.includes(path));
  const refused = changes.filter(({ path }) => !isAmendable(path));
  if (refused.length > 0) throw failure('Spec.Invalid', refusal(specPath, refused));
  const spec = withFieldsOf(before.spec, file);
  if (before.modelPath !== null) requireAllowed(spec, operatorPolicy);
  const deadlines = waitDeadlines(spec, true);
  if (changes.length === 0) return { spec: context.spec, changed: [], deadlines };
  const problem = webhookProblem(spec.notify, webhook);
  if (problem !== null) throw failure('Spec.Invalid', `${specPath}: ${problem}`);
  const resolved = resolveEndpoints(spec, endpoints, dirname(resolve(specPath)));
  const changed = changes.map(({ path }) => path);
  const asksElsewhere = changed.some((path) => path === 'analyst.baseUrl' || path === 'analyst.model');
  const after: PreparedSpec = preparedSpecSchema.parse({
    ...before,
    spec,
    modelBaseUrl: changed.includes('model.baseUrl') ? resolved.modelBaseUrl : before.modelBaseUrl,
    analyst: asksElsewhere
      ? await probeAnalyst(resolved, endpoints.analyst.apiKey, Context.current().cancellationSignal)
      : before.analyst,
  });
  const frozen = await putJson(store, layout.run(context.runId), 'amended-spec.json', after);
  return { spec: frozen, changed, deadlines };
}

/** Reads agent.yaml. @throws Spec.Invalid with every problem that was found. */
export function readSpec(path: string): AgentSpec {
  try {
    return loadAgentSpec(path);
  } catch (error) {
    if (error instanceof AgentSpecError) throw failure('Spec.Invalid', error.message, { cause: error });
    throw error;
  }
}

/** @throws Spec.NotAllowed where a spec's trainings ask for more than the policy of this worker allows. */
export function requireAllowed({ name, training }: AgentSpec, policy: WorkerPolicy): void {
  if (training.backend !== 'kubernetes' || training.kubernetes === undefined) return;
  const refused = refusedByPolicy(policy, name, training.kubernetes);
  if (refused !== null) throw failure('Spec.NotAllowed', refused);
}

const isAmendable = (path: string) => AMENDABLE_FIELDS.some((field) => path === field || path.startsWith(`${field}.`));

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Every field with a different value. A list counts as one value. */
function differences(before: unknown, after: unknown, path = ''): Difference[] {
  if (isObject(before) && isObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return names.flatMap((name) => differences(before[name], after[name], path === '' ? name : `${path}.${name}`));
  }
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ path, before, after }];
}

/** The file's spec with the ranges of the tasks that a command printed when the run began. */
function withTasksOf({ environment }: AgentSpec, file: AgentSpec): AgentSpec {
  if (!printsTasks(file)) return file;
  const { trainSeeds, heldOutSeeds } = environment;
  return { ...file, environment: { ...file.environment, trainSeeds, heldOutSeeds } };
}

/** The earlier spec with every amendable field of the file. */
function withFieldsOf(before: AgentSpec, file: AgentSpec): AgentSpec {
  const amended = structuredClone(before);
  for (const field of AMENDABLE_FIELDS) {
    const [section, name] = field.split('.') as [keyof AgentSpec, string | undefined];
    if (name === undefined) Object.assign(amended, { [section]: file[section] });
    else {
      const value = (file[section] as Record<string, unknown>)[name];
      Object.assign(amended[section] as object, { [name]: value });
    }
  }
  return amended;
}

function refusal(file: string, refused: readonly Difference[]): string {
  const lines = refused.map(
    ({ path, before, after }) =>
      `${file}: ${path}: the run was started with ${shown(before)}, the file has ${shown(after)}.`,
  );
  return [
    ...lines,
    `A run that waits takes over changes of these fields alone: ${AMENDABLE_FIELDS.join(', ')}. ` +
      'For other changes start a new run.',
  ].join('\n');
}

const shown = (value: unknown) => (value === undefined ? 'nothing' : startOf(JSON.stringify(value), 100));
