import type { EnvironmentMove } from '../../contracts/messages/environment-protocol';
import type { ChatAnswer } from './model-client';

/** What an experiment changes in an episode. */
export interface Intervention {
  /** Tools whose calls are put in as the agent's own actions, where the task's solution has them. */
  forced: readonly string[];
  /** Solution of the task, from which the forced calls are taken. */
  solution: readonly EnvironmentMove[];
  /** Tools whose calls are not carried out; the agent samples again instead. */
  forbidden: readonly string[];
}

/** How often the agent samples again in one turn. */
const MOST_RESAMPLES = 3;
/** Distance of the sampling seeds of one turn. It is larger than any episode is long. */
const NEXT_SAMPLE = 1_000_003;
/** Seeds of samplers have 31 bits. */
const SEEDS = 2 ** 31;

/** The tool name that stands for a text without a call. */
const TEXT = '';
const nameOf = (move: EnvironmentMove): string => ('text' in move ? TEXT : move.name);

/**
 * Carries out an intervention in one episode.
 *
 * A forced call is due when the agent has made the calls that the solution makes before it, each as often. Then it is a
 * turn of its own, before the agent is asked. It is also due before an action that the solution has only after it, and
 * before an answer that ends the episode: then the agent's action follows it unchanged, because a second sample would
 * be a second chance. A forced call counts as made once the agent has called its tool as often as the solution.
 */
export class Intervening {
  private readonly made = new Map<string, number>();
  private readonly tools = new Set<string>();
  /** An answer without calls that waits for the calls put in before it. */
  private waiting: ChatAnswer | null = null;
  private turnsPutIn = 0;

  /** @param hasSay whether an answer without calls leaves the episode open. */
  constructor(
    private readonly intervention: Intervention,
    private readonly hasSay: boolean,
  ) {}

  /** Tools whose calls were put in or not carried out, so far, each once. */
  get intervened(): string[] {
    return [...this.tools];
  }

  /**
   * The answer of a turn. `sample` asks the agent with a sampling seed relative to the episode's. Turns that were put
   * in use no seed, so that the agent's own turns keep theirs.
   */
  async answer<F>(turn: number, sample: (seed: number) => Promise<ChatAnswer | F>): Promise<ChatAnswer | F> {
    const due = this.due(null);
    if (due.length > 0) {
      this.turnsPutIn++;
      return spoken(due);
    }
    const kept = this.waiting;
    this.waiting = null;
    if (kept !== null) {
      this.count(TEXT);
      return kept;
    }
    const seed = turn - this.turnsPutIn;
    const sampled = await this.allowed(seed, sample);
    return isAnswer(sampled) ? this.withForced(sampled) : sampled;
  }

  /** Samples until the answer has no forbidden call; after the last sample such calls are left out. */
  private async allowed<F>(seed: number, sample: (seed: number) => Promise<ChatAnswer | F>): Promise<ChatAnswer | F> {
    const { forbidden } = this.intervention;
    let spent = { promptTokens: 0, completionTokens: 0 };
    for (let samples = 0; ; samples++) {
      const sampled = await sample(seed + samples * NEXT_SAMPLE);
      if (!isAnswer(sampled)) return sampled;
      spent = {
        promptTokens: spent.promptTokens + sampled.promptTokens,
        completionTokens: spent.completionTokens + sampled.completionTokens,
      };
      const isForbidden = ({ name }: { name: string }) => forbidden.includes(name);
      const toolCalls = sampled.toolCalls.filter((call) => !isForbidden(call));
      if (toolCalls.length === sampled.toolCalls.length) return { ...sampled, ...spent };
      for (const { name } of sampled.toolCalls.filter(isForbidden)) this.tools.add(name);
      if (samples === MOST_RESAMPLES) return { ...sampled, ...spent, toolCalls };
    }
  }

  private withForced(answer: ChatAnswer): ChatAnswer {
    if (answer.toolCalls.length === 0) {
      const due = this.due(TEXT);
      if (due.length === 0) {
        this.count(TEXT);
        return answer;
      }
      const { promptTokens, completionTokens } = answer;
      this.waiting = { ...answer, promptTokens: 0, completionTokens: 0 };
      this.turnsPutIn++;
      return { ...spoken(due), promptTokens, completionTokens };
    }
    const toolCalls = answer.toolCalls.flatMap((call) => {
      const due = this.due(call.name);
      this.count(call.name);
      return [...due, call];
    });
    return { ...answer, toolCalls };
  }

  /** The forced calls that are due before `next`, the tool of the agent's next action; null: not known yet. */
  private due(next: string | null): ChatAnswer['toolCalls'] {
    const { solution, forced } = this.intervention;
    const endsEpisode = next === TEXT && !this.hasSay;
    return solution.flatMap((move, at) => {
      if ('text' in move || !forced.includes(move.name) || move.name === next) return [];
      const before = Map.groupBy(solution.slice(0, at), nameOf);
      const doneBefore = (tool: string) => this.madeOf(tool) >= (before.get(tool)?.length ?? 0);
      if (this.madeOf(move.name) > (before.get(move.name)?.length ?? 0)) return [];
      const isNext = [...before.keys()].every(doneBefore);
      const isPassed =
        next !== null && doneBefore(next) && solution.slice(at + 1).some((later) => nameOf(later) === next);
      if (!isNext && !isPassed && !endsEpisode) return [];
      this.count(move.name);
      this.tools.add(move.name);
      return [{ name: move.name, arguments: JSON.stringify(move.arguments) }];
    });
  }

  private madeOf(tool: string): number {
    return this.made.get(tool) ?? 0;
  }

  private count(tool: string): void {
    this.made.set(tool, this.madeOf(tool) + 1);
  }
}

/** The sampling seed of an agent's turn in an episode with this seed. */
export const seedOfTurn = (samplingSeed: number, turn: number): number =>
  turn < NEXT_SAMPLE ? samplingSeed + turn : (samplingSeed + turn) % SEEDS;

const isAnswer = (given: unknown): given is ChatAnswer =>
  typeof given === 'object' && given !== null && 'toolCalls' in given;

/** A turn that consists of calls put in. It cost no tokens. */
const spoken = (toolCalls: ChatAnswer['toolCalls']): ChatAnswer => ({
  content: null,
  reasoning: null,
  cut: false,
  toolCalls,
  promptTokens: 0,
  completionTokens: 0,
  firstToken: [],
  fingerprint: null,
});
