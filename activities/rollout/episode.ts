import { ApplicationFailure } from '@temporalio/common';
import type { ChatMessage, Trajectory } from '../../contracts/artifacts/trajectory';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import type { EnvironmentTool } from '../../contracts/messages/environment-protocol';
import { SandboxError } from '../../sandbox';
import type { EnvironmentHandle } from '../environment';
import { isProcessFault } from './restarting-environment';
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
  tools: readonly EnvironmentTool[];
  /** Whether the environment answers turns without tool calls; otherwise such a turn ends the episode. */
  hasSay: boolean;
  settings: EpisodeSettings;
  /** If true, a fault of the environment's code ends the episode as `environment-error`; otherwise it is thrown. */
  toleratesFaults: boolean;
  /** Called with each fault that was tolerated. */
  onFault?: (error: SandboxError) => void;
  /** Called if the model server refuses this conversation, which ends the episode as `refused`. */
  onRefusal?: (fault: ModelFault) => void;
}

/** The runtime refuses a longer list. No agent makes that many calls on purpose. */
const MAX_CALLS_PER_TURN = 64;

/**
 * Plays one episode from reset to reward. `name` is its name in the environment's process. Rejects with a SandboxError,
 * or with the error of `chat`.
 */
export async function runEpisode(plan: EpisodePlan, parties: EpisodeParties, name: string): Promise<Trajectory> {
  const record = new EpisodeRecord(plan, parties.settings.successReward);
  try {
    await playEpisode(record, plan, parties, name);
  } catch (error) {
    if (!(error instanceof SandboxError) || isProcessFault(error) || !parties.toleratesFaults) throw error;
    parties.onFault?.(error);
    await parties.environment.drop(name).catch(() => undefined);
    record.finish = 'environment-error';
  }
  return record.toTrajectory();
}

/** Whether an episode's opening alone was too long for the model's context, so that the model gave no answer. */
export const isTooLongToOpen = (episode: Pick<Trajectory, 'finish' | 'messages'>): boolean =>
  episode.finish === 'context-length' && hasNoAnswer(episode);

const hasNoAnswer = ({ messages }: Pick<Trajectory, 'messages'>): boolean =>
  !messages.some(({ role }) => role === 'assistant');

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
  const { environment, settings, tools, hasSay } = parties;
  const opened = await environment.reset(name, plan.seed);
  record.messages.push(...opened.messages);
  record.tags = opened.tags;
  const known = new Set(tools.map((tool) => tool.function.name));
  for (let turn = 0; turn < settings.maxTurns && record.finish === 'turn-limit'; turn++) {
    const answer = await answerOrFault(() =>
      parties.chat({
        model: plan.modelAfter?.(record.messages) ?? plan.model,
        messages: record.messages,
        tools,
        temperature: settings.temperature,
        seed: plan.samplingSeed + turn,
        maxTokens: settings.maxCompletionTokens,
      }),
    );
    if (answer instanceof ModelFault) {
      record.finish = answer.kind === 'too-long' ? 'context-length' : 'refused';
      if (record.finish === 'refused') parties.onRefusal?.(answer);
      // There is nothing to evaluate, because the agent has not acted yet.
      if (turn === 0) return environment.drop(name);
      break;
    }
    const calls = record.addAnswer(answer, turn);
    if (calls.length === 0) {
      const { observations, done } = await environment.say(name, answer.content ?? '');
      if (done) record.finish = hasSay ? 'done' : 'no-tool-call';
      else record.messages.push({ role: 'user', content: observations[0] ?? '' });
      continue;
    }
    for (const call of calls) {
      const { observation, done } = await runCall(environment, name, call, known);
      record.steps++;
      record.messages.push({ role: 'tool', content: observation, tool_call_id: call.id });
      if (done) {
        record.finish = 'done';
        break;
      }
    }
  }
  const { reward, diagnostics } = await environment.evaluate(name);
  record.reward = reward;
  record.diagnostics = diagnostics;
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

/** An episode's messages and counts so far. */
class EpisodeRecord {
  readonly messages: ChatMessage[] = [];
  tags: string[] = [];
  diagnostics: Trajectory['diagnostics'] = {};
  finish: Trajectory['finish'] = 'turn-limit';
  reward = 0;
  steps = 0;
  private cutReplies = 0;
  private promptTokens = 0;
  private completionTokens = 0;

  constructor(
    private readonly plan: EpisodePlan,
    private readonly successReward: number,
  ) {}

  /** Appends the assistant's message and returns its tool calls. Their ids depend only on their position. */
  addAnswer(answer: ChatAnswer, turn: number): ToolCall[] {
    const calls = answer.toolCalls
      .slice(0, MAX_CALLS_PER_TURN)
      .map((call, index): ToolCall => ({ id: `call_${turn}_${index}`, type: 'function', function: call }));
    const content = answer.content === '' && calls.length > 0 ? null : answer.content;
    this.messages.push({
      role: 'assistant',
      content,
      // The reasoning is sent back to the server with the next turn, because templates of reasoning models write it
      // between two calls.
      ...(answer.reasoning !== null && { reasoning_content: answer.reasoning }),
      ...(calls.length > 0 && { tool_calls: calls }),
    });
    if (answer.cut) this.cutReplies++;
    this.promptTokens += answer.promptTokens;
    this.completionTokens += answer.completionTokens;
    return calls;
  }

  toTrajectory(): Trajectory {
    const { seed, split, trial, model, samplingSeed } = this.plan;
    const { messages, reward, finish, steps, cutReplies, tags, diagnostics } = this;
    const task = { seed, split };
    return {
      id: trajectoryId({ task, trial, model, messages }),
      task,
      trial,
      model,
      samplingSeed,
      messages,
      reward,
      success: finish !== 'environment-error' && !hasNoAnswer({ messages }) && reward >= this.successReward,
      finish,
      steps,
      ...(cutReplies > 0 && { cutReplies }),
      // The real number of cachedTokens depends on the server's other requests, but the same seed must give the same
      // bytes.
      usage: { promptTokens: this.promptTokens, completionTokens: this.completionTokens, cachedTokens: 0 },
      tags,
      diagnostics,
    };
  }
}
