/** Parses the numbered messages of a prompt into calls and sentences: the analyst knows nothing but the prompt. */

export interface TranscriptCall {
  /** Number of the message that holds the call. */
  step: number;
  name: string;
  arguments: Record<string, unknown>;
  /** What the tool returned; empty when the episode ended before it did. */
  observation: string;
}

/** An episode as the prompt shows it. */
export interface Transcript {
  calls: TranscriptCall[];
  /** What the customer said: user messages and the answers to replies, in order. */
  customer: string[];
}

const HEAD = /^\[(\d+)\] (system|user|assistant|tool)(?: calls (\S+))?: ?(.*)$/;
const REPLY_TOOL = 'reply';

interface Message {
  step: number;
  role: string;
  call: string | null;
  text: string;
}

/** Messages of a block of prompt text; a line without a head belongs to the message before it when it is indented. */
export function parseMessages(text: string): Message[] {
  const messages: Message[] = [];
  for (const line of text.split('\n')) {
    const head = HEAD.exec(line);
    const last = messages.at(-1);
    if (head)
      messages.push({ step: Number(head[1]), role: head[2] as string, call: head[3] ?? null, text: head[4] as string });
    else if (last && line.startsWith('    ')) last.text += `\n${line.slice(4)}`;
  }
  return messages;
}

/** Calls with their results, and the customer's sentences. */
export function parseTranscript(text: string): Transcript {
  const calls: TranscriptCall[] = [];
  const customer: string[] = [];
  const unanswered: TranscriptCall[] = [];
  for (const message of parseMessages(text)) {
    if (message.role === 'user') customer.push(message.text);
    if (message.call !== null) {
      const call = { step: message.step, name: message.call, arguments: parseArguments(message.text), observation: '' };
      calls.push(call);
      unanswered.push(call);
    }
    if (message.role === 'tool') {
      const call = unanswered.shift();
      if (call) call.observation = message.text;
      if (call?.name === REPLY_TOOL) customer.push(message.text);
    }
  }
  return { calls, customer };
}

function parseArguments(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
