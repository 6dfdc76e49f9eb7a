import type { AgentSpec } from '../../../contracts/config/agent-spec';
import type { ProgramTrial } from '../../../contracts/program-trial';
import { launchProgram, type LaunchProgram, type ProgramSource, type SandboxError } from '../../../sandbox';
import { deployedSettings } from '../episode';
import type { ChatRequest } from '../model-client';
import { doNothingModel, MOST_IDLE_TURNS, NEUTRAL_SENTENCE } from '../scripted-model';
import { guessedTokens, taskOf } from './episode-place';
import { ProgramPlayer } from './program-player';

/** Members of a request with which a program asks for an answer of a form that a sentence does not have. */
const FORMS = ['tool_choice', 'response_format'] as const;

/**
 * Plays the first task to learn from once, from the first request to the result, as rollouts do, with a model that only
 * says that it cannot help. No server is asked. A scoring command runs too, and may ask a judge.
 * @throws SandboxError if the program cannot be started.
 */
export async function tryProgram(
  environment: ProgramSource,
  spec: Pick<AgentSpec, 'environment' | 'model'>,
  launch: LaunchProgram = launchProgram,
): Promise<ProgramTrial> {
  const { client, model } = doNothingModel();
  const deployed = deployedSettings(spec);
  const settings = { ...deployed, maxTurns: Math.min(MOST_IDLE_TURNS, deployed.maxTurns) };
  const asked = new Set<string>();
  const failures: SandboxError[] = [];
  const chat = (request: Omit<ChatRequest, 'baseUrl'>) => {
    for (const form of FORMS) if (isSet(request.further?.[form])) asked.add(form);
    return client.chat({ ...request, baseUrl: model.baseUrl });
  };
  const player = new ProgramPlayer({
    environment,
    launch,
    set: 'validate',
    settings,
    chat,
    countTokens: guessedTokens,
    onTaskFailure: (error) => failures.push(error),
  });
  const seed = environment.firstSeed;
  const plan = { seed, split: 'train' as const, trial: 0, model: model.name, samplingSeed: 0 };
  try {
    const { task_id: taskId } = taskOf(environment, plan, settings.maxTurns);
    const { reward, finish } = await player.play(plan, taskId);
    const [failed] = failures;
    return {
      seed,
      taskId,
      says: NEUTRAL_SENTENCE,
      reward: failed === undefined ? reward : null,
      isOutOfTurns: finish === 'turn-limit',
      failure: failed === undefined ? null : { cause: failed.taskCause ?? 'other', message: wordsOf(failed) },
      asked: [...asked],
    };
  } finally {
    await player.close();
  }
}

const isSet = (value: unknown): boolean => value !== undefined && value !== 'none';

/** The failure without the name of the episode. */
const wordsOf = ({ cause, message }: SandboxError): string => (cause instanceof Error ? cause.message : message);
