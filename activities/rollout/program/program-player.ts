import { hash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import { startOf } from '../../../contracts/clean-text';
import { canonicalJson, trajectoryId } from '../../../contracts/artifacts/trajectory-id';
import type { EnvironmentTokens } from '../../../contracts/artifacts/environment-use';
import type { ChatMessage, Trajectory } from '../../../contracts/artifacts/trajectory';
import type { EnvironmentTool } from '../../../contracts/messages/environment-protocol';
import { type LaunchProgram, type ProgramSource, type ProgramStart, SandboxError } from '../../../sandbox';
import { isTaskFailure } from '../../failed-task';
import { type CaptureAddress, CaptureServer } from '../capture/capture-server';
import { type Captured, EpisodeCapture } from '../capture/episode-capture';
import type { EpisodeParties, EpisodePlan } from '../episode';
import type { ModelFault } from '../model-errors';
import type { EpisodePlayer, PlayerOptions } from '../player';
import { CommandRunner } from './command-runner';
import { endpointVariables, type EpisodePlace, openPlace, replaceFile, taskOf } from './episode-place';
import { type FolderRoom, whenFolderIsFull } from './folder-room';
import { memoryRoom } from './memory-room';
import { type CommandEnd, CommandTime } from './run-command';
import { type ProgramResult, readResult, RESULT_FORM, resultFile, usageIn, usageOf } from './program-result';
import { keptBranches } from './branches';

/** What a ProgramPlayer needs. */
export interface ProgramPlayerOptions
  extends
    Pick<EpisodeParties, 'chat' | 'countTokens' | 'settings' | 'onRefusal' | 'onTaskFailure'>,
    Pick<PlayerOptions, 'whilePlayed'> {
  environment: ProgramSource;
  launch: LaunchProgram;
  /** A name of the set of rollouts, so that no episode of another set has the same WHET_EPISODE. */
  set: string;
  /** What an episode's folder may hold, for tests. */
  room?: FolderRoom;
  /** After so many milliseconds without room for any episode it is told; for tests. Default: a minute. */
  waitMs?: number;
  /** Called with a sentence for people. */
  onNote?: (note: string) => void;
}

/** Why an episode has no result. */
type Cause = 'exit' | 'no-result' | 'deadline' | 'judge' | 'no-request' | 'files';

/** An episode has no result, which says nothing about the agent. */
const taskFailed = (taskCause: Cause, message: string, spent: EnvironmentTokens | null = null): SandboxError =>
  new SandboxError('Sandbox.TaskFailed', message, { taskCause, spent });

/** What was done to a file of the episode's folder, where the program may have made it impossible. */
const ownFile = <T>(done: Promise<T>): Promise<T> =>
  done.catch((error: Error) => {
    throw taskFailed('files', `The program left its folder unusable: ${startOf(error.message, 500)}`);
  });

/** Plays episodes by a command for each, which finds the model at the capture endpoint. */
export class ProgramPlayer implements EpisodePlayer {
  private readonly server = new CaptureServer();
  private readonly runner: CommandRunner;
  private readonly closing = new AbortController();
  /** How many episodes at a time, and why. */
  private readonly manner: string;
  private playing = 0;
  private saysThatItWaits = false;
  /** The tools that the first request of an episode offered; null before it. */
  tools: EnvironmentTool[] | null = null;

  constructor(private readonly options: ProgramPlayerOptions) {
    this.runner = new CommandRunner(options.environment, options.launch);
    const { memoryPerEpisode } = options.environment.launch;
    // Every episode waits for room with a listener of its own.
    setMaxListeners(0, this.closing.signal);
    const { size, places } = memoryRoom.placesFor(memoryPerEpisode);
    const why = `${size} MiB are free, and an episode gets ${memoryPerEpisode} (environment.memoryPerEpisode)`;
    this.manner = `at most ${places} programs at a time: ${why}`;
    options.onNote?.(this.manner);
  }

  play(plan: EpisodePlan, _name: string, chat = this.options.chat): Promise<Trajectory> {
    const { memoryPerEpisode } = this.options.environment.launch;
    const { whilePlayed = (playing) => playing(), onNote, waitMs = 60_000 } = this.options;
    const timer = setTimeout(() => {
      if (this.playing > 0) return;
      this.saysThatItWaits = true;
      onNote?.('waits for memory: programs of other runs on this worker have all of it');
    }, waitMs).unref();
    const play = async () => {
      clearTimeout(timer);
      if (this.saysThatItWaits) onNote?.(this.manner);
      this.saysThatItWaits = false;
      this.playing++;
      return this.playOne(plan, chat).finally(() => this.playing--);
    };
    const played = memoryRoom.run(memoryPerEpisode, this.closing.signal, () => whilePlayed(play));
    return played.finally(() => clearTimeout(timer));
  }

  /** Every episode has a process of its own. */
  apart(): EpisodePlayer {
    return this;
  }

  async close(): Promise<void> {
    this.closing.abort(this.runner.closedError());
    await Promise.all([this.runner.close(), this.server.close()]);
  }

  private async playOne(plan: EpisodePlan, chat: EpisodeParties['chat']): Promise<Trajectory> {
    const { settings, environment, countTokens } = this.options;
    const counting = countTokens && { countTokens };
    const capture = new EpisodeCapture({ plan, settings, chat, ...counting, model: environment.agent });
    const task = taskOf(environment, plan, settings.maxTurns);
    const place = await openPlace(task, this.episodeOf(plan));
    let address: CaptureAddress | undefined;
    let ended: CommandEnd | null = null;
    try {
      address = await this.server.open(capture);
      const { seconds, command } = environment.launch;
      const time = new CommandTime(seconds.episode * 1000);
      capture.onWait = (isWaiting) => (isWaiting ? time.pause() : time.resume());
      const more = { ...place.variables, ...endpointVariables(environment, address) };
      const start = { command, more, writable: place.folder, input: place.variables.TASK_FILE };
      ended = await this.runWithin(place, start, time, capture.failure);
      capture.onWait = () => undefined;
      address.end();
      this.tools ??= capture.tools;
      const played = await this.resultOf(plan, capture.captured, ended, place);
      return played.environmentUsage ? played : withUsage(played, await usageOf(ended, place.variables.RESULT_FILE));
    } catch (error) {
      if (!isTaskFailure(error)) throw error;
      const message = `Task ${task.task_id} (trial ${plan.trial}): ${error.message}`;
      this.options.onTaskFailure?.(new SandboxError(error.type, message, { taskCause: error.taskCause, cause: error }));
      const failed = this.failed(plan, capture.captured, error.taskCause ?? 'other');
      // What was spent is paid, however the episode ended.
      return withUsage(failed, error.spent ?? (await usageOf(ended, place.variables.RESULT_FILE)));
    } finally {
      address?.end();
      const left = await place.close();
      if (left !== null) this.options.onNote?.(left);
    }
  }

  /** The same in every attempt of the episode. */
  private episodeOf({ seed, split, trial, model, samplingSeed }: EpisodePlan): string {
    const named = canonicalJson({ set: this.options.set, seed, split, trial, model, samplingSeed });
    return hash('sha256', named, 'hex').slice(0, 32);
  }

  private async resultOf(
    plan: EpisodePlan,
    captured: Captured,
    ended: CommandEnd,
    place: EpisodePlace,
  ): Promise<Trajectory> {
    const { fault, isBeyondTurns, endsCut } = captured;
    if (fault !== null && fault.kind !== 'too-long') this.options.onRefusal?.(fault);
    const { seconds, score } = this.options.environment.launch;
    const isWell = ended.why === 'code' && ended.code === 0;
    // A program without further turns may end in any way, and the agent had all of its turns. Some clients take an
    // answer for an error that was cut at the limit of tokens: that is the agent's fault, too. What kills a program is
    // no such error.
    const isSpent = isBeyondTurns || (endsCut && ended.why === 'code');
    if (!isWell && !isSpent) {
      if (ended.why === 'deadline')
        throw taskFailed('deadline', `The program took more than ${seconds.episode} s, besides waits for the model.`);
      // The model gave no answer, so that the program could not go on: that ends the episode, as in every other kind.
      if (fault !== null) return this.trajectory(plan, captured, { ...NO_RESULT, finish: endBy(fault) });
      throw taskFailed('exit', `The program ended with ${codeOf(ended)}. ${ended.words}`);
    }
    if (captured.messages.length === 0)
      throw taskFailed('no-request', `The program ended without a request to the model. ${ended.words}`);
    const needsResult = isWell && (!isBeyondTurns || score !== null);
    const said = score === null ? this.said(ended, place) : this.score(score, captured, place);
    const result = await said.catch((error: unknown): ProgramResult => {
      if (needsResult || !isTaskFailure(error)) throw error;
      return { ...NO_RESULT, ...(error.spent && { usage: error.spent }) };
    });
    const { finish: saidFinish = isWell ? undefined : 'no-tool-call' } = result;
    const finish = fault !== null ? endBy(fault) : isBeyondTurns ? 'turn-limit' : saidFinish;
    return this.trajectory(plan, captured, { ...result, ...(finish !== undefined && { finish }) });
  }

  /** The result that the program itself says. */
  private async said(ended: CommandEnd, { variables }: EpisodePlace): Promise<ProgramResult> {
    const text = (await ownFile(resultFile(variables.RESULT_FILE))) ?? ended.lastLine;
    if (text === null) throw taskFailed('no-result', `The program printed no result. ${RESULT_FORM} ${ended.words}`);
    const result = readResult(text);
    if ('fault' in result) throw taskFailed('no-result', `${result.fault} ${RESULT_FORM} ${ended.words}`);
    return result;
  }

  /** The result that the scoring command prints. */
  private async score(command: readonly string[], captured: Captured, place: EpisodePlace): Promise<ProgramResult> {
    const { folder, task, variables } = place;
    const TRANSCRIPT_FILE = join(folder, 'transcript.json');
    const { messages, others } = captured;
    // The program may have put anything in the place of these files.
    await ownFile(replaceFile(variables.TASK_FILE, task));
    const transcript = { ...(JSON.parse(task) as object), messages, others: keptBranches(others).kept };
    await ownFile(replaceFile(TRANSCRIPT_FILE, JSON.stringify(transcript)));
    const { score: seconds } = this.options.environment.launch.seconds;
    const more = { ...variables, TRANSCRIPT_FILE };
    const start = { command, field: 'environment.score', more, writable: folder, input: variables.TASK_FILE };
    const ended = await this.runWithin(place, start, new CommandTime(seconds * 1000));
    const failed = (message: string) => taskFailed('judge', message, usageIn(ended.lastLine));
    if (ended.why === 'deadline') throw failed(`The scoring command took more than ${seconds} s.`);
    if (ended.why !== 'code' || ended.code !== 0)
      throw failed(`The scoring command ended with ${codeOf(ended)}. ${ended.words}`);
    const result = readResult(ended.lastLine ?? '');
    if ('fault' in result) throw failed(`${result.fault} ${RESULT_FORM} ${ended.words}`);
    return result;
  }

  /** Runs a command as long as `failure` does not reject and the folder of the episode has room. */
  private async runWithin(
    { folder }: EpisodePlace,
    start: ProgramStart,
    time: CommandTime,
    failure: Promise<never> = new Promise(() => undefined),
  ): Promise<CommandEnd> {
    const over = new AbortController();
    const full = whenFolderIsFull(folder, over.signal, this.options.room).then((what) => {
      if (what !== null) throw taskFailed('files', what);
      return new Promise<never>(() => undefined);
    });
    const until = Promise.race([failure, full]);
    until.catch(() => undefined);
    try {
      return await this.runner.run(start, time, until);
    } finally {
      over.abort();
    }
  }

  private failed(plan: EpisodePlan, captured: Captured, failedBecause: string): Trajectory {
    return { ...this.trajectory(plan, captured, { ...NO_RESULT, finish: 'failed' }), success: false, failedBecause };
  }

  private trajectory(plan: EpisodePlan, captured: Captured, result: EpisodeResult): Trajectory {
    const { seed, split, trial, model, samplingSeed } = plan;
    const { settings } = this.options;
    const { answers, openingAnswers, cutReplies, promptTokens, completionTokens, leftOut, others } = captured;
    const { reward, tags, diagnostics, usage, success = reward >= settings.successReward } = result;
    const messages = [...captured.messages, ...lastResults(captured.messages, result.observations)];
    const task = { seed, split };
    return {
      id: trajectoryId({ task, trial, model, messages }),
      task,
      trial,
      model,
      ...(leftOut.length > 0 && { leftOut }),
      samplingSeed,
      messages,
      ...(openingAnswers > 0 && { openingAnswers }),
      ...(others.length > 0 && { branches: keptBranches(others) }),
      reward,
      success: success && answers > 0,
      finish: result.finish ?? (answers >= settings.maxTurns ? 'turn-limit' : 'done'),
      steps: messages.filter(({ role }) => role === 'tool').length,
      ...(cutReplies > 0 && { cutReplies }),
      usage: { promptTokens, completionTokens, cachedTokens: 0 },
      ...(usage && { environmentUsage: usage }),
      tags,
      diagnostics,
    };
  }
}

type EpisodeResult = Omit<ProgramResult, 'finish'> & { finish?: Trajectory['finish'] | undefined };

const NO_RESULT = { reward: 0, tags: [], diagnostics: {}, observations: [] };

const endBy = ({ kind }: ModelFault) => (kind === 'too-long' ? 'context-length' : 'refused');

const withUsage = (played: Trajectory, usage: EnvironmentTokens | null): Trajectory =>
  usage === null ? played : { ...played, environmentUsage: usage };

const codeOf = ({ code, signal }: CommandEnd): string => (code === null ? `signal ${signal}` : `code ${code}`);

/** The results of the last answer's calls, in their order; there are no results without calls. */
function lastResults(messages: readonly ChatMessage[], observations: readonly string[]): ChatMessage[] {
  const calls = messages.at(-1)?.tool_calls ?? [];
  return calls.slice(0, observations.length).map(({ id }, place) => ({
    role: 'tool',
    content: observations[place]!,
    tool_call_id: id,
  }));
}
