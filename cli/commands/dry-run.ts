import { bytesText } from '../../contracts/bytes-text';
import { pluralise } from '../../contracts/pluralise';
import { totalmem } from 'node:os';
import { dirname, resolve } from 'node:path';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import type { BudgetSpec } from '../../contracts/config/analyst-spec';
import { bytesOfQuantity, estimateTrainerMemory, type TrainerMemory } from '../../contracts/trainer-memory';
import type { RunEnd } from '../../contracts/names';
import { printsTasks } from '../../loaders/agent-spec';
import { readModelConfig } from '../../loaders/model-config';
import { isPlayable } from '../../contracts/config/environment-kinds';
import { collectedTraces, LocalStore, readTraces } from '../../store';
import { requirePlayable } from '../agent';
import { readAgentWithTasks } from '../agent-with-tasks';
import { readIngestedOf, sizeOf } from '../conversations';
import type { Context } from '../context';
import { ASSUMED_OTHER_RISK, estimateRun, readLastCallSizes, type RunEstimate } from '../estimate';
import { heldOutSize } from '../../contracts/statistics/held-out-size';
import { percentText, pointsText } from '../../contracts/share-text';
import { table } from '../output';

const whole = (value: number) => Math.round(value).toLocaleString('en-US');
const dollars = (usd: number | null) => (usd === null ? '–' : `$${usd.toFixed(2)}`);

/** The place of the trial of a run, and its GPUs. */
function describeTrial({ backend, kubernetes }: AgentSpec['training']): string {
  if (backend === 'local' || kubernetes === undefined) return 'a process of the worker that trains nothing';
  const { gpus, gpuResource } = kubernetes.resources;
  const devices = gpus === 0 ? 'without a GPU' : `with ${gpus} ${gpuResource}`;
  return `a Job in namespace ${kubernetes.namespace} with image ${kubernetes.image}, ${devices}, that trains nothing`;
}

/** The memory that a trainer needs, and whether enough is available. */
function describeMemory({ training }: AgentSpec, memory: TrainerMemory): string[] {
  const { weights, adapter, activations, cache, total } = memory;
  const gpu = training.backend === 'kubernetes' && (training.kubernetes?.resources.gpus ?? 0) > 0;
  const given =
    training.backend === 'local' ? totalmem() : bytesOfQuantity(training.kubernetes?.resources.memory ?? '');
  const parts =
    `weights ${bytesText(weights)}, LoRA with its optimiser ${bytesText(adapter)}, ` +
    `activations at most ${bytesText(activations)}`;
  const where = training.backend === 'local' ? 'on this machine' : '(training.kubernetes.resources.memory)';
  return [
    `Memory of a trainer, estimated from config.json: at most ${bytesText(total)} (${parts}` +
      `${cache > 0 ? `, cache ${bytesText(cache)}` : ''})${gpu ? ', to be compared with that of the GPU' : ''}.`,
    ...(!gpu && given !== null && total > given
      ? [
          `It has ${bytesText(given)} ${where}: lower training.updateTokens, or set training.gradientCheckpointing` +
            `${weights + adapter > given ? '; the weights alone do not fit' : ''}.`,
        ]
      : []),
  ];
}

/** `420 held-out tasks with 2 trials each`, or more trials if the wanted gain needs them. */
function describeSize(spec: AgentSpec): string {
  const { tasks, leastTrials, mostTrials } = heldOutSize(spec);
  const wanted = spec.evaluation.detectableGain;
  const size = `${pluralise(tasks, 'held-out task')} with ${pluralise(leastTrials, 'trial')}`;
  if (wanted === undefined) return `${size} each`;
  return `${size} each (more, up to ${mostTrials}, if a gain of ${pointsText(wanted)} needs them)`;
}

/**
 * `whet run AGENT_YAML --dry-run [--until STAGE]`: calls, tokens and cost of each stage. It starts no run; a command
 * that prints the tasks is run.
 */
export async function dryRunCommand({ settings, out }: Context, path: string, until?: RunEnd): Promise<void> {
  const agent = await readAgentWithTasks(path);
  const { spec, path: specPath } = agent;
  if (until === undefined) requirePlayable(agent);
  const store = new LocalStore(settings.storeRoot);
  const { trajectories: live, unreadable } = await readTraces(store, spec.name, {
    ...collectedTraces(spec.collect.live, spec.model.name),
    now: Date.now(),
  });
  const ingested = await readIngestedOf(store, spec);
  const read = ingested === null ? { count: live.length } : sizeOf([...ingested.trajectories, ...live]);
  const estimate = estimateRun(spec, await readLastCallSizes(store, spec.name), read, until);
  const onGpu = spec.training.backend === 'kubernetes' && (spec.training.kubernetes?.resources.gpus ?? 0) > 0;
  // A model that a recipe makes may not exist yet. A run that trains nothing needs none.
  const modelPath = until === undefined ? spec.model.path : undefined;
  const modelConfig = modelPath === undefined ? null : readModelConfig(resolve(dirname(specPath), modelPath));
  const memory = estimateTrainerMemory(modelConfig, spec, onGpu);
  const { budget } = spec;
  const over = [
    ...(budget.usd !== undefined && estimate.usd !== null && estimate.usd > budget.usd ? [`$${budget.usd}`] : []),
    ...(budget.tokens !== undefined && estimate.tokens > budget.tokens ? [`${whole(budget.tokens)} tokens`] : []),
    ...overOfEnvironment(estimate, budget),
  ];
  const rows = estimate.stages.map((s) => [
    s.stage,
    s.what,
    whole(s.calls),
    whole(s.promptTokens),
    whole(s.cachedTokens),
    whole(s.completionTokens),
    dollars(s.usd),
  ]);
  const text = [
    table([['stage', 'what', 'calls', 'tokens in', 'cached', 'tokens out', 'cost'], ...rows], [2, 3, 4, 5, 6]),
    '',
    `The analyst: at most ${whole(estimate.tokens)} tokens` +
      `${estimate.usd === null ? '' : `, ${dollars(estimate.usd)}`}.`,
    estimate.expectedTokens === null
      ? 'That is every labelling run, candidate and attempt that agent.yaml allows; most runs need a small part of ' +
        'it. After a first run the dry run says what that one used.'
      : `The ${until === undefined ? '' : 'identification of the '}last run used ` +
        `${whole(estimate.expectedTokens)} tokens: expect about as many, and fewer where labels and ` +
        'environments are reused.',
    ...(estimate.usd === null
      ? ['agent.yaml has no prices (analyst.pricePerMillionInput, analyst.pricePerMillionOutput), so there is no cost.']
      : []),
    ...(estimate.environment === null ? [] : [describeEnvironmentUse(estimate.environment)]),
    estimate.basis,
    ...(over.length === 0
      ? []
      : [
          `That is more than the budget of agent.yaml (${over.join(', ')}): ` +
            'the run would pause there until `whet budget RUN` raises it.',
        ]),
    ...unreadable.map(
      ({ key, lines }) =>
        `${key}: ${lines === 1 ? 'a line is' : `${lines} lines are`} not a trajectory; ` +
        'the run would leave out what cannot be read.',
    ),
    ...(memory === null ? [] : describeMemory(spec, memory)),
    ...(until === undefined ? [describeEvaluation(estimate, spec)] : []),
    describeRarestNeed(estimate, spec, read.count),
    until === undefined
      ? `Before the first call to the analyst the run tries a trainer: ${describeTrial(spec.training)}.`
      : 'The run would end after identification: no trainer is tried, and nothing is trained or evaluated.',
    printsTasks(spec) ? 'Nothing but the command of environment.tasks was started.' : 'Nothing was started.',
  ];
  out.result(
    { agent: spec.name, ...estimate, memory, budget, overBudget: over.length > 0, unreadable },
    text.join('\n'),
  );
}

/** The limits of simulated users and judges that the estimate passes. */
function overOfEnvironment({ environment: estimate }: RunEstimate, { environment: limits = {} }: BudgetSpec): string[] {
  if (estimate === null) return [];
  const { tokens, usd } = estimate;
  return [
    ...(limits.usd !== undefined && (usd ?? 0) > limits.usd ? [`$${limits.usd} for simulated users and judges`] : []),
    ...(limits.tokens !== undefined && tokens > limits.tokens
      ? [`${whole(limits.tokens)} tokens of simulated users and judges`]
      : []),
  ];
}

const describeEnvironmentUse = ({ tokens, usd }: NonNullable<RunEstimate['environment']>): string =>
  `Simulated users and judges: at most ${whole(tokens)} tokens${usd === null ? '' : `, ${dollars(usd)}`}, if the ` +
  'environment asks models.';

const describeEvaluation = ({ minimumDetectableGain }: RunEstimate, spec: AgentSpec): string =>
  `The evaluation, ${describeSize(spec)}, proves a gain over base of ${pointsText(minimumDetectableGain!)} or more in ` +
  'four of five cases, for any agent; the run computes it again from the results of this agent.';

function describeRarestNeed(
  { rarestNeed }: Pick<RunEstimate, 'rarestNeed'>,
  { environment }: AgentSpec,
  conversations: number,
): string {
  if (!isPlayable(environment)) {
    const found = pluralise(conversations, 'conversation');
    return rarestNeed === null
      ? `Identification, ${found}, finds no rare need.`
      : `Identification, ${found}, finds a need of ${percentText(rarestNeed)} of them or more in four of five cases.`;
  }
  const tasks = pluralise(environment.trainSeeds.count, 'train task');
  const assumed = `if ${percentText(ASSUMED_OTHER_RISK)} of the other tasks fail`;
  return rarestNeed === null
    ? `Identification, ${tasks}, finds no rare need, ${assumed}: raise environment.trainSeeds.count.`
    : `Identification, ${tasks}, finds a need of ${percentText(rarestNeed)} of the tasks or more in four of five cases, ` +
        `${assumed} and every lack of it does, in half of the tasks that need it. More tasks find rarer needs.`;
}
