import { ApplicationFailure } from '@temporalio/common';
import type { ChatMessage, Trajectory } from '../../contracts/artifacts/trajectory';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import type { EnvironmentTool } from '../../contracts/messages/environment-protocol';
import { SandboxError } from '../../sandbox';
import type { EnvironmentHandle } from '../environment';
import { isTaskFailure } from '../failed-task';
import { isProcessFault } from './restarting-environment';
import { answerMessage } from './answer-message';
import { type Intervention, Intervening, seedOfTurn } from './intervention';
import type { ChatAnswer, ChatRequest } from './model-client';
import { ModelFault } from './model-errors';
import { parseArguments } from './sent-messages';
import type { ReadMessage } from '../../routing/opening-text';
import { trajectoryId } from '../../contracts/artifacts/trajectory-id';
import { startOf } from '../../contracts/clean-text';

/** The episode to run. */
export interface EpisodePlan {
  seed: number;
  split: Trajectory['task']['split'];
  trial: number;
  /** Served model name. */
  model: string;
  samplingSeed: number;
  /** Name of the model that answers after these messages; absent: `model` gives all answers. */
  modelAfter?: (messages: readonly ReadMessage[]) => string;
  /** What an experiment changes. Absent: nothing. */
  intervention?: Intervention;
}

/** Settings that all episodes of a set of rollouts share. */
export interface EpisodeSettings {
  temperature: number;
  maxTurns: number;
  /** Largest number of tokens of one answer. */
  maxCompletionTokens: number;
  /** Smallest reward that counts as success. */
  successReward: number;
}

/** The episode settings of the deployed agent. */
export function deployedSettings({ environment, model }: Pick<AgentSpec, 'environment' | 'model'>): EpisodeSettings {
  return {
    temperature: model.temperature,
    maxTurns: environment.maxTurns,
    maxCompletionTokens: model.maxCompletionTokens,
    successReward: environment.successReward,
  };
}

/** Environment and model of an episode. */
export interface EpisodeParties {
  environment: EnvironmentHandle;
  chat: (request: Omit<ChatRequest, 'baseUrl'>) => Promise<ChatAnswer>;
  /** Number of tokens of a conversation's prompt; null: the model's server does not count. Absent: it does not. */
  countTokens?: (request: Pick<ChatRequest, 'model' | 'messages' | 'tools'>) => Promise<number | null>;
  /** Those of an episode whose opening names none. */
  tools: readonly EnvironmentTool[];
  /** Whether the environment answers turns without tool calls; otherwise such a turn ends the episode. */
  hasSay: boolean;
  settings: EpisodeSettings;
  /**
   * If true, a fault of the environment's code ends the episode as `environment-error`; otherwise it is thrown. A
   * generated environment cannot declare that a task failed: that is a fault of its code, too.
   */
  toleratesFaults: boolean;
  /** Called with each fault that was tolerated. */
  onFault?: (error: SandboxError) => void;
  /** Called if something other than the agent failed, which ends the episode as `failed`. */
  onTaskFailure?: (error: SandboxError) => void;
  /** Called if the model server refuses this conversation, which ends the episode as `refused`. */
  onRefusal?: (fault: ModelFault) => void;
}

/**
 * Plays one episode from reset to reward. `name` is its name in the environment's process. Rejects with a SandboxError,
 * or with the error of `chat`.
 */
export async function runEpisode(plan: EpisodePlan, parties: EpisodeParties, name: string): Promise<Trajectory> {
  const record = new EpisodeRecord(plan, parties.settings.successReward);
  try {
    await playEpisode(record, plan, parties, name);
  } catch (error) {
    if (isProcessFault(error)) throw error;
    // Whatever ended the episode, the environment need not keep it.
    const dropped = parties.environment.drop(name).catch(() => null);
    const isFailure = isTaskFailure(error) && !parties.toleratesFaults;
    const isTolerated = error instanceof SandboxError && parties.toleratesFaults;
    if (!isFailure && !isTolerated) throw error;
    (isFailure ? parties.onTaskFailure : parties.onFault)?.(error);
    record.environmentUsage = (await dropped) ?? error.spent ?? undefined;
    record.finish = isFailure ? 'failed' : 'environment-error';
    record.failedBecause = isFailure ? (error.taskCause ?? 'other') : null;
  }
  return record.toTrajectory();
}

type Answered = Pick<Trajectory, 'messages' | 'openingAnswers'>;

/** Whether an episode's opening alone was too long for the model's context, so that the model gave no answer. */
export const isTooLongToOpen = (episode: Answered & Pick<Trajectory, 'finish'>): boolean =>
  episode.finish === 'context-length' && hasNoAnswer(episode);

const answersIn = (messages: readonly ChatMessage[]): number =>
  messages.filter(({ role }) => role === 'assistant').length;

const hasNoAnswer = ({ messages, openingAnswers = 0 }: Answered): boolean => answersIn(messages) <= openingAnswers;

/** The trajectory of an episode that ended its environment's process: it has no messages, only the failure. */
export function abandonedEpisode(plan: EpisodePlan): Trajectory {
  const record = new EpisodeRecord(plan, 1);
  record.finish = 'environment-error';
  return record.toTrajectory();
}

async function playEpisode(
  record: EpisodeRecord,
  plan: EpisodePlan,
  parties: EpisodeParties,
  name: string,
): Promise<void> {
  const { environment, settings, hasSay } = parties;
  const opened = await environment.reset(name, plan.seed);
  const { tools = parties.tools } = opened;
  record.open(opened.messages);
  record.tags = opened.tags;
  const known = new Set(tools.map((tool) => tool.function.name));
  const intervening = plan.intervention ? new Intervening(plan.intervention, hasSay) : null;
  const sample = (turn: number): Promise<ChatAnswer | ModelFault> =>
    answerOrFault(() =>
      parties.chat({
        model: plan.modelAfter?.(record.messages) ?? plan.model,
        messages: record.messages,
        tools,
        temperature: settings.temperature,
        seed: seedOfTurn(plan.samplingSeed, turn),
        maxTokens: settings.maxCompletionTokens,
      }),
    );
  for (let turn = 0; turn < settings.maxTurns && record.finish === 'turn-limit'; turn++) {
    const answer = await (intervening?.answer(turn, sample) ?? sample(turn));
    record.intervened = intervening?.intervened ?? [];
    if (answer instanceof ModelFault) {
      record.finish = answer.kind === 'too-long' ? 'context-length' : 'refused';
      if (record.finish === 'refused') parties.onRefusal?.(answer);
      // There is nothing to evaluate, because the agent has not acted yet.
      if (hasNoAnswer(record)) {
        record.environmentUsage = (await environment.drop(name)) ?? undefined;
        return;
      }
      break;
    }
    const calls = record.addAnswer(answer, turn);
    if (calls.length === 0) {
      const { observations, done } = await environment.say(name, answer.content ?? '');
      if (done) record.finish = hasSay ? 'done' : 'no-tool-call';
      else record.messages.push({ role: 'user', content: observations[0] ?? '' });
      continue;
    }
    const together = environment.takesWholeTurns
      ? await runTurn(environment, name, calls, known, answer.content)
      : null;
    for (const [index, call] of calls.entries()) {
      const { observation, done } = together ? together[index]! : await runCall(environment, name, call, known);
      record.steps++;
      record.messages.push({ role: 'tool', content: observation, tool_call_id: call.id });
      if (done) {
        record.finish = 'done';
        break;
      }
    }
  }
  const { reward, diagnostics, usage } = await environment.evaluate(name);
  record.reward = reward;
  record.diagnostics = diagnostics;
  record.environmentUsage = usage;
}

/** The model's answer, or a fault of this conversation only: it is too long, or the server refuses it. */
export async function answerOrFault(chat: () => Promise<ChatAnswer>): Promise<ChatAnswer | ModelFault> {
  try {
    return await chat();
  } catch (error) {
    const fault = error instanceof ApplicationFailure ? error.cause : null;
    if (fault instanceof ModelFault && (fault.kind === 'too-long' || fault.kind === 'conversation')) return fault;
    throw error;
  }
}

type ToolCall = NonNullable<ChatMessage['tool_calls']>[number];

async function runCall(
  environment: EnvironmentHandle,
  episode: string,
  call: ToolCall,
  known: ReadonlySet<string>,
): Promise<{ observation: string; done: boolean }> {
  const { name } = call.function;
  const parsed = parseArguments(call.function.arguments);
  if (!parsed) return { observation: `Error: the arguments of ${name} are not a JSON object.`, done: false };
  try {
    const { observations, done } = await environment.step(episode, [{ name: startOf(name, 200), arguments: parsed }]);
    return { observation: observations[0] ?? '', done };
  } catch (error) {
    // The agent invented the tool name. An environment that raises for it must not end the run.
    if ((error as SandboxError).type !== 'Sandbox.EnvironmentRaised' || known.has(name)) throw error;
    return { observation: `Error: there is no tool named ${name}.`, done: false };
  }
}

/**
 * Makes all calls of a turn in one step, with the text beside them. A call that the environment could not understand is
 * answered here. After the call that ends the episode no other one is made.
 */
async function runTurn(
  environment: EnvironmentHandle,
  episode: string,
  calls: readonly ToolCall[],
  known: ReadonlySet<string>,
  text: string | null,
): Promise<{ observation: string; done: boolean }[]> {
  const read = calls.map(({ function: { name, arguments: written } }) => {
    if (!known.has(name)) return { refusal: `Error: there is no tool named ${startOf(name, 200)}.` };
    const parsed = parseArguments(written);
    if (!parsed) return { refusal: `Error: the arguments of ${name} are not a JSON object.` };
    return { call: { name, arguments: parsed } };
  });
  const sent = read.flatMap(({ call }) => call ?? []);
  const words = text === null || text === '' ? [] : [text];
  const { observations, done } =
    sent.length === 0 ? { observations: [], done: false } : await environment.step(episode, sent, ...words);
  let next = 0;
  return read.map(({ refusal }) => {
    if (refusal !== undefined) return { observation: refusal, done: false };
    const observation = observations[next++] ?? '';
    return { observation, done: done && next >= observations.length };
  });
}

/** An episode's messages and counts so far. */
class EpisodeRecord {
  readonly messages: ChatMessage[] = [];
  tags: string[] = [];
  /** Tools whose calls an experiment put in or did not carry out. */
  intervened: string[] = [];
  diagnostics: Trajectory['diagnostics'] = {};
  finish: Trajectory['finish'] = 'turn-limit';
  failedBecause: string | null = null;
  reward = 0;
  steps = 0;
  environmentUsage: Trajectory['environmentUsage'];
  openingAnswers = 0;
  private cutReplies = 0;
  private promptTokens = 0;
  private completionTokens = 0;

  constructor(
    private readonly plan: EpisodePlan,
    private readonly successReward: number,
  ) {}

  /** Begins with the messages of the environment, among which may be words of the agent. */
  open(messages: readonly ChatMessage[]): void {
    this.messages.push(...messages);
    this.openingAnswers = answersIn(messages);
  }

  /** Appends the assistant's message and returns its tool calls. */
  addAnswer(answer: ChatAnswer, turn: number): ToolCall[] {
    const message = answerMessage(answer, turn);
    this.messages.push(message);
    if (answer.cut) this.cutReplies++;
    this.promptTokens += answer.promptTokens;
    this.completionTokens += answer.completionTokens;
    return message.tool_calls ?? [];
  }

  toTrajectory(): Trajectory {
    const { seed, split, trial, model, samplingSeed } = this.plan;
    const { messages, reward, finish, failedBecause, steps, openingAnswers, cutReplies, intervened } = this;
    const { tags, diagnostics, environmentUsage } = this;
    const mayPass = finish !== 'environment-error' && finish !== 'failed' && !hasNoAnswer({ messages, openingAnswers });
    const task = { seed, split };
    return {
      id: trajectoryId({ task, trial, model, messages }),
      task,
      trial,
      model,
      samplingSeed,
      messages,
      ...(openingAnswers > 0 && { openingAnswers }),
      reward,
      success: mayPass && reward >= this.successReward,
      finish,
      ...(failedBecause !== null && { failedBecause }),
      steps,
      ...(cutReplies > 0 && { cutReplies }),
      ...(intervened.length > 0 && { intervened }),
      // The real number of cachedTokens depends on the server's other requests, but the same seed must give the same
      // bytes.
      usage: { promptTokens: this.promptTokens, completionTokens: this.completionTokens, cachedTokens: 0 },
      ...(environmentUsage && { environmentUsage }),
      tags,
      diagnostics,
    };
  }
}
