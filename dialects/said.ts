/** Reads what a model said from chat completions, whole or streamed, for the other dialects to write. */
import { errorInAnswer, isHeldBack } from '../contracts/messages/read-error';
import { argumentsOf, StreamedCalls, type WireCall } from './chat-calls';
import { reasoningOf } from './chat-messages';

/** Why an answer ended: by itself, with tool calls, at the limit of tokens, or because a part was held back. */
type End = 'stop' | 'calls' | 'length' | 'filter';

/** A tool call. `arguments` is the model's own text. */
export interface SaidCall {
  id: string;
  name: string;
  arguments: string;
}

/** Numbers of tokens. `cached` is the part of `prompt` that the server had computed before. */
export interface Usage {
  prompt: number;
  completion: number;
  cached: number;
}

/** The texts of an answer; each is empty where there is none. */
export interface SaidTexts {
  reasoning: string;
  text: string;
  refusal: string;
}

/** A whole answer. */
export interface Said extends SaidTexts {
  calls: SaidCall[];
  end: End;
  usage: Usage;
}

interface WireMessage {
  content?: unknown;
  refusal?: unknown;
  tool_calls?: (WireCall & { index?: unknown })[] | null;
  [field: string]: unknown;
}

interface WireChoice {
  index?: number;
  message?: WireMessage | null;
  delta?: WireMessage | null;
  finish_reason?: unknown;
}

interface WireAnswer {
  choices?: (WireChoice | null)[] | null;
  usage?: Record<string, unknown> | null;
}

/** The first choice of a chat completion. @throws TypeError when the value is no chat completion. */
export function saidIn(completion: unknown): Said {
  const reader = new ChunkReader();
  const texts = reader.read(completion);
  return { ...texts, ...reader.rest() };
}

/** A model server's error within a stream. */
export class ErrorInStream extends Error {}

/** Reads the chunks of a streamed chat completion, or a whole one. Texts come at once, the rest at the end. */
export class ChunkReader {
  private readonly calls = new StreamedCalls();
  private finish: string | null = null;
  /** Whether the server has said that its answer ends. */
  hasEnded = false;
  private usage: Usage = { prompt: 0, completion: 0, cached: 0 };

  /** Characters of the tool calls so far. */
  get callCharacters(): number {
    return this.calls.characters;
  }

  /**
   * What is new in a chunk.
   * @throws ErrorInStream for an error in place of a chunk, TypeError for what is neither.
   */
  read(chunk: unknown): SaidTexts {
    if (typeof chunk !== 'object' || chunk === null) throw new TypeError('A chunk of a chat completion is no object.');
    const { choices, usage } = chunk as WireAnswer;
    const choice = Array.isArray(choices) ? choices.find((one) => (one?.index ?? 0) === 0) : undefined;
    const error = errorInAnswer(chunk);
    if (error !== null && !isHeldBack(choice?.finish_reason)) throw new ErrorInStream(error.message);
    if (!Array.isArray(choices)) throw new TypeError('A chat completion has no choices.');
    if (usage) this.usage = usageOf(usage);
    if (typeof choice?.finish_reason === 'string') {
      this.finish = choice.finish_reason;
      this.hasEnded = true;
    }
    const said: WireMessage = choice?.delta ?? choice?.message ?? {};
    for (const call of said.tool_calls ?? []) this.calls.add(call);
    return {
      reasoning: reasoningOf(said),
      text: textOf(said.content),
      refusal: typeof said.refusal === 'string' ? said.refusal : '',
    };
  }

  /** Everything but the texts, once the answer has ended. */
  rest(): Omit<Said, keyof SaidTexts> {
    const calls = this.calls.made.map(({ id, function: called }, place) => ({
      id: id === '' ? `call_${place}` : id,
      name: called.name,
      arguments: String(argumentsOf(called)) || '{}',
    }));
    return { calls, end: endOf(this.finish, calls.length > 0), usage: this.usage };
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: unknown) => (typeof part === 'string' ? part : ((part as { text?: unknown } | null)?.text ?? '')))
    .filter((text) => typeof text === 'string')
    .join('');
}

function endOf(finish: string | null, hasCalls: boolean): End {
  if (finish === 'length') return 'length';
  if (isHeldBack(finish)) return 'filter';
  return hasCalls ? 'calls' : 'stop';
}

const count = (value: unknown): number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0;

const usageOf = ({ prompt_tokens, completion_tokens, prompt_tokens_details: details }: Record<string, unknown>) => ({
  prompt: count(prompt_tokens),
  completion: count(completion_tokens),
  cached: count((details as { cached_tokens?: unknown } | null | undefined)?.cached_tokens),
});
