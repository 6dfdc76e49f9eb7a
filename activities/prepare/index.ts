import { createHash } from 'node:crypto';
import { access } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Context } from '@temporalio/activity';
import { type PreparedSpec, preparedSpecSchema, type ServedModel } from '../../contracts/artifacts/prepared-spec';
import { canonicalJson } from '../../contracts/artifacts/trajectory-id';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import type { ImprovementRunInput, RunPlan } from '../../contracts/messages/run';
import { fieldOfPlayer, isPlayable, NOTHING_PLAYS } from '../../contracts/config/environment-kinds';
import { CONVERSATION_FACTS, MODULE_FACTS } from '../../contracts/config/environment-kinds/facts';
import { ownerEnvironment, placeOfEnvironment } from '../../loaders/owner-environment';
import { problemOfTrials, taskName, type TaskToTry } from '../../contracts/solvable-tasks';
import { failure } from '../../contracts/typed-failure';
import { isInKubernetes, isUnsafeAllowed, type JailProbe, SandboxError, SandboxUnavailable } from '../../sandbox';
import { type ArtifactStore, layout, putJson } from '../../store';
import type { WorkerPolicy } from '../../contracts/config/operator-policy';
import type { RolloutDeps } from '../rollout/rollout-deps';
import { hashBaseModel } from '../base-model';
import { Progress } from '../progress';
import { factsOf, ownerFailure, ownerTaskFailure, paidBy, readable } from '../environment';
import { tasksToTry, tryTasks } from '../environment-checks/try-tasks';
import { modelFailure, ModelFault } from '../rollout';
import { notServed } from '../rollout/model-identity';
import { type KnownEndpoints, requireModelPath, resolveEndpoints } from '../endpoints/resolve-endpoints';
import { probeAnalyst } from '../endpoints/probe-analyst';
import { webhookProblem, type WebhookSettings } from '../endpoints/webhook-target';
import { waitDeadlines } from '../wait-deadlines';
import { readSpec, requireAllowed } from './amend-spec';
import { type SpecWithTasks, withPrintedTasks } from './printed-tasks';
import { refusedCommand } from './refused-command';

/** Dependencies of `prepareRun`. */
export interface PrepareDeps extends RolloutDeps {
  endpoints: KnownEndpoints;
  /** The allowed addresses of notices. */
  webhook: Pick<WebhookSettings, 'url' | 'endpoints'>;
  /** What agents may ask of the cluster and of this machine. */
  operatorPolicy: WorkerPolicy;
  /** Whether what lies in an agent's own folder needs no entry in the policy. */
  allowsOwnFolders: boolean;
  /** Tests every layer of the jail; normally `probeJail` of `sandbox/`. */
  probeJail: () => Promise<JailProbe>;
}

/**
 * Activity: reads and checks agent.yaml, tries every part that the run will need, and writes the result to the store.
 * So a mistake fails now and not an hour later, and edits of the file do not affect a run that has begun.
 * @throws Spec.Invalid, Spec.NotAllowed, Environment.Failed, Sandbox.Unavailable, Model.* and Analyst.*.
 */
export async function prepareRun(
  deps: PrepareDeps,
  { runId, agent, specPath, scheduled, until, ...changes }: ImprovementRunInput,
): Promise<RunPlan> {
  const signal = Context.current().cancellationSignal;
  const written = specToRun(specPath, changes);
  if (written.name !== agent)
    throw failure(
      'Spec.Invalid',
      `${specPath}: name is ${JSON.stringify(written.name)}, but the run was started for ` +
        `${JSON.stringify(agent)}. Start it again.`,
    );
  const problem = webhookProblem(written.notify, deps.webhook);
  if (problem !== null) throw failure('Spec.Invalid', `${specPath}: ${problem}`);
  const plays = isPlayable(written.environment);
  if (scheduled === true && until !== undefined && plays)
    throw failure('Spec.Invalid', `until ${until}: a scheduled run has all stages. End a single run with --until.`);
  const trains = until === undefined;
  if (trains && !plays) throw failure('Spec.Invalid', `${specPath}: environment: ${NOTHING_PLAYS}`);
  if (trains) requireAllowed(written, deps.operatorPolicy);
  const refused = refusedCommand(deps.operatorPolicy, written, specPath, deps.allowsOwnFolders);
  if (refused !== null) throw failure('Spec.NotAllowed', refused);
  const folder = dirname(resolve(specPath));
  const endpoints = resolveEndpoints(written, deps.endpoints, folder);
  const { modelBaseUrl } = endpoints;
  const modelPath = trains ? requireModelPath(written, endpoints) : null;
  const environmentPath = placeOfEnvironment(written, specPath);
  const { spec, printed } = await withHeartbeats(
    'reading the tasks',
    withPrintedTasks(deps.store, { runId, specPath }, written, environmentPath, signal),
  );
  const [environment, analyst, sandbox, servedModel] = await withHeartbeats(
    'checking the environment, the jail, the model server and the analyst',
    Promise.all([
      plays ? tryEnvironment(deps, runId, environmentPath, { spec, printed }) : conversations(spec),
      probeAnalyst(endpoints, deps.endpoints.analyst.apiKey, signal),
      plays ? trySandbox(deps, spec) : UNUSED,
      plays ? tryModel(deps, modelBaseUrl, spec.model.name, signal) : NO_MODEL,
    ]),
  );
  // Last, because a large model takes minutes, and a wrong field should not.
  const baseModelSha256 = modelPath === null ? servedSha256(spec, servedModel) : await hashModel(deps.store, modelPath);
  if (modelPath !== null) requireServedIsTrained(servedModel, baseModelSha256, modelBaseUrl, modelPath);
  const prepared: PreparedSpec = preparedSpecSchema.parse({
    spec,
    environmentPath,
    ...environment,
    modelBaseUrl,
    modelPath,
    baseModelSha256,
    servedModel,
    analyst,
    sandbox,
  });
  return {
    context: {
      runId,
      agent,
      spec: await putJson(deps.store, layout.run(runId), 'spec.json', prepared),
      seed: spec.seed,
    },
    maxAttempts: spec.synthesis.maxAttempts,
    mixedAdapter: spec.evaluation.mixedAdapter,
    approval: spec.gate.approval,
    onRejected: spec.synthesis.onRejected,
    deadlines: waitDeadlines(spec, scheduled === true),
    notify: (spec.notify.webhook ?? deps.webhook.url) !== null,
    ...(!plays && { plays }),
  };
}

const UNUSED: PreparedSpec['sandbox'] = { mode: 'unused', detail: 'nothing was played, and no code was written.' };
const NO_MODEL: ServedModel = { weightsSha256: null, root: null, maxModelLength: null };

/** What stands in place of an environment where there are conversations alone. */
const conversations = ({ environment }: AgentSpec): Pick<PreparedSpec, 'environmentSha256' | 'facts'> => ({
  environmentSha256: createHash('sha256').update(canonicalJson(environment)).digest('hex'),
  facts: CONVERSATION_FACTS,
});

/** Sends heartbeats during work other than rollouts; `note` describes the work. */
async function withHeartbeats<T>(note: string, work: Promise<T>): Promise<T> {
  using _ = new Progress({ stage: 'collect', unit: 'checks', total: 1, note });
  return await work;
}

/** Reads the spec and replaces the fields that the start of the run overrides. */
function specToRun(
  path: string,
  { seed, arm, ablations }: Pick<ImprovementRunInput, 'seed' | 'arm' | 'ablations'>,
): AgentSpec {
  const spec = readSpec(path);
  const identify = {
    ...spec.identify,
    ...(arm !== undefined && { arm }),
    ...(ablations !== undefined && { ablations }),
  };
  return { ...spec, identify, ...(seed !== undefined && { seed }) };
}

/** Starts the agent's environment and tries tasks as `whet validate` does. Returns its identity, facts and tasks. */
async function tryEnvironment(
  { store, openEnvironment }: PrepareDeps,
  runId: string,
  path: string,
  { spec, printed }: SpecWithTasks,
): Promise<Pick<PreparedSpec, 'environmentSha256' | 'facts' | 'tasks' | 'printedTasks'>> {
  const { source, tasks, sha256 } = readable(path, () => ownerEnvironment(spec, path, printed ?? undefined));
  const named = { ...(tasks !== undefined && { tasks }), ...(printed !== null && { printedTasks: printed.ref }) };
  let task: string | undefined;
  let facts = MODULE_FACTS;
  try {
    const paid = paidBy(source, { store, runId, budget: spec.budget, stage: 'collect' });
    const tried = await tryTasks(openEnvironment, paid, tasksToTry(spec.environment), {
      onLoad: async (loaded) => {
        await loaded.describe();
        facts = factsOf(loaded);
      },
      onBegin: (begun: TaskToTry): void => void (task = taskName(begun)),
    });
    const problem = problemOfTrials(tried, path, spec.environment.successReward);
    if (problem !== null) {
      const message = `${fieldOfPlayer(spec.environment)}: ${problem}`;
      throw failure('Environment.Failed', message, { nonRetryable: true });
    }
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    if (task !== undefined && error.retryable) throw ownerTaskFailure(error, task, Context.current().info.attempt);
    throw ownerFailure(error, { nonRetryable: !error.retryable, ...(task !== undefined && { task }) });
  }
  return { environmentSha256: sha256(facts.packages), facts, ...named };
}

/** What stands for the hash of the base model where no directory of it is read. */
const servedSha256 = ({ model }: AgentSpec, served: ServedModel): string =>
  served.weightsSha256 ??
  createHash('sha256')
    .update(canonicalJson({ name: model.name, ...served }))
    .digest('hex');

async function hashModel(store: ArtifactStore, directory: string): Promise<string> {
  try {
    await access(join(directory, 'config.json'));
  } catch (error) {
    throw failure(
      'Spec.Invalid',
      `The base model ${directory} (model.path) is not a model directory: it has no config.json. Name the directory ` +
        'of a model that was saved with save_pretrained.',
      { cause: error as Error },
    );
  }
  return hashBaseModel(store, directory, 'collect');
}

/** Adapters are trained on the model in model.path but used with the served model, so both must be the same. */
function requireServedIsTrained({ weightsSha256 }: ServedModel, sha256: string, baseUrl: string, path: string): void {
  if (weightsSha256 === null || weightsSha256 === sha256) return;
  throw failure(
    'Model.Changed',
    `The server at ${baseUrl} serves weights ${weightsSha256.slice(0, 12)}…, but model.path ${path} holds ` +
      `${sha256.slice(0, 12)}…. Adapters would be trained on another model than is served: let the server load ` +
      'model.path, then start the run again.',
  );
}

async function tryModel(
  { model }: PrepareDeps,
  baseUrl: string,
  name: string,
  signal: AbortSignal,
): Promise<ServedModel> {
  try {
    const cards = await model.models(baseUrl, signal);
    const card = cards.find(({ id }) => id === name);
    if (card === undefined) throw notServed({ name, baseUrl }, cards);
    const { weightsSha256, root, maxModelLength } = card;
    return { weightsSha256, root, maxModelLength };
  } catch (error) {
    throw error instanceof ModelFault ? modelFailure(error) : error;
  }
}

async function trySandbox({ probeJail }: PrepareDeps, { training }: AgentSpec): Promise<PreparedSpec['sandbox']> {
  try {
    if (isUnsafeAllowed(undefined, isInKubernetes() || training.backend === 'kubernetes'))
      return { mode: 'unsafe', detail: 'WHET_SANDBOX=unsafe: generated code runs without the jail.' };
    const probe = await probeJail();
    if (!probe.ok) throw new SandboxUnavailable(probe.missing);
    return {
      mode: 'jail',
      detail: `${Object.keys(probe.layers).length} layers hold; control groups: ${probe.cgroup}.`,
    };
  } catch (error) {
    throw error instanceof SandboxUnavailable ? failure('Sandbox.Unavailable', error.message, { cause: error }) : error;
  }
}
