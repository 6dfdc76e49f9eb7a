import { setMaxListeners } from 'node:events';
import { PROGRAM_FACTS } from '../../../contracts/config/environment-kinds/facts';
import type { EnvironmentTokens } from '../../../contracts/artifacts/environment-use';
import type { EnvironmentTool } from '../../../contracts/messages/environment-protocol';
import type { ChatMessage } from '../../../contracts/artifacts/trajectory';
import { type EnvironmentHandle, type LaunchProgram, type ProgramSource, SandboxError } from '../../../sandbox';
import { type CaptureAddress, CaptureServer } from '../capture/capture-server';
import { EpisodeCapture } from '../capture/episode-capture';
import { CommandRunner } from './command-runner';
import { endpointVariables, guessedTokens, openPlace, taskOf } from './episode-place';
import { memoryRoom } from './memory-room';
import { usageOf } from './program-result';
import { CommandTime } from './run-command';

/** How an episode of a program begins. */
interface Beginning {
  messages: ChatMessage[];
  tools: EnvironmentTool[];
  /** Tokens that its simulated user spent before the first request; null: the program does not say. */
  spent: EnvironmentTokens | null;
}

type OpeningMessage = Awaited<ReturnType<EnvironmentHandle['reset']>>['messages'][number];

/** A message of the opening; what a program says of calls in its first request is none. */
const openingOf = ({ role, content }: ChatMessage): OpeningMessage[] =>
  role === 'tool' || content === null ? [] : [{ role, content }];

/** Nothing is sampled here. */
const SETTINGS = { temperature: 0, maxTurns: 1, maxCompletionTokens: 1, successReward: 1 };

/**
 * A program, as far as its episodes are known before they are played: it is started, and ended at its first request to
 * the model, which is not answered. That request has the tools, and how the episode begins.
 */
export class OpenedProgram implements EnvironmentHandle {
  readonly isolation = 'owner-jail';
  readonly facts = PROGRAM_FACTS;
  readonly sha256 = '';
  private readonly server = new CaptureServer();
  private readonly runner: CommandRunner;
  private readonly closing = new AbortController();
  private first: Promise<Beginning> | null = null;
  private readonly spent = new Map<string, EnvironmentTokens | null>();

  constructor(
    private readonly environment: ProgramSource,
    launch: LaunchProgram,
  ) {
    this.runner = new CommandRunner(environment, launch);
    // Every task that is opened waits for room with a listener of its own.
    setMaxListeners(0, this.closing.signal);
  }

  /** The agent.yaml. */
  get name(): string {
    return this.environment.name;
  }

  /** Whether it can still be asked. */
  get alive(): boolean {
    return !this.closing.signal.aborted;
  }

  /** The tools that the program offers the model in its first task to learn from. Rejects as `reset` does. */
  async describe(): Promise<{ tools: EnvironmentTool[]; hasSay: boolean; hasHints: boolean }> {
    this.first ??= this.beginning(this.environment.firstSeed);
    const { tools } = await this.first;
    // Whether a program goes on after an answer without calls is not known; without tools it could do nothing else.
    return { tools, hasSay: tools.length === 0, hasHints: false };
  }

  /**
   * The messages with which the episode of a seed begins. Rejects with Sandbox.TaskFailed if the program ends without a
   * request, or asks nothing in time.
   */
  async reset(episode: string, seed: number): Promise<{ messages: OpeningMessage[]; tags: string[] }> {
    const { messages, spent } = await this.beginning(seed);
    this.spent.set(episode, spent);
    return { messages: messages.flatMap(openingOf), tags: [] };
  }

  /** Nothing is open, so this only says what was spent. */
  async drop(episode: string): Promise<EnvironmentTokens | null> {
    const spent = this.spent.get(episode) ?? null;
    this.spent.delete(episode);
    return spent;
  }

  /** Only the program itself plays its episodes, and it has no references. */
  readonly step = (): Promise<never> => this.refuse();
  /** The same. */
  readonly say = this.step;
  /** The same. */
  readonly evaluate = this.step;
  /** The same. */
  readonly reference = this.step;

  /** What a program is told of a task; what it makes of it stays its own. */
  async task(seed: number): Promise<Record<string, unknown>> {
    return { task_id: this.environment.tasks?.[seed] ?? String(seed) };
  }

  /** Ends what runs. */
  async close(): Promise<void> {
    this.closing.abort(this.runner.closedError());
    await Promise.all([this.runner.close(), this.server.close()]);
  }

  private async refuse(): Promise<never> {
    throw new SandboxError('Sandbox.BadRequest', `Only the program of ${this.name} itself plays its episodes.`);
  }

  private beginning(seed: number): Promise<Beginning> {
    const { memoryPerEpisode } = this.environment.launch;
    return memoryRoom.run(memoryPerEpisode, this.closing.signal, () => this.begin(seed));
  }

  private async begin(seed: number): Promise<Beginning> {
    const { environment } = this;
    const { agent } = environment;
    let begun!: (beginning: Omit<Beginning, 'spent'>) => void;
    const first = new Promise<Omit<Beginning, 'spent'>>((resolve) => (begun = resolve));
    const plan = { seed, split: 'train' as const, trial: 0, model: agent, samplingSeed: 0 };
    const chat: ConstructorParameters<typeof EpisodeCapture>[0]['chat'] = ({ messages, tools = [] }) => {
      begun({ messages: [...messages], tools: tools as EnvironmentTool[] });
      return new Promise(() => undefined);
    };
    const capture = new EpisodeCapture({ plan, settings: SETTINGS, chat, countTokens: guessedTokens, model: agent });
    const place = await openPlace(taskOf(environment, plan, SETTINGS.maxTurns), 'beginning');
    let address: CaptureAddress | undefined;
    try {
      address = await this.server.open(capture);
      const more = { ...place.variables, ...endpointVariables(environment, address) };
      const { command, seconds } = environment.launch;
      const start = { command, more, writable: place.folder, input: place.variables.TASK_FILE };
      const end = await this.runner.run(start, new CommandTime(seconds.episode * 1000), first);
      const spent = await usageOf('messages' in end ? null : end, place.variables.RESULT_FILE);
      if ('messages' in end) return { ...end, spent };
      const what = end.why === 'deadline' ? `asked nothing within ${seconds.episode} s` : 'ended';
      throw new SandboxError(
        'Sandbox.TaskFailed',
        `The program ${what} before its first request to the model, for the task with seed ${seed}. ${end.words}`,
        { taskCause: end.why === 'deadline' ? 'deadline' : 'no-request', spent },
      );
    } finally {
      address?.end();
      await place.close();
    }
  }
}
