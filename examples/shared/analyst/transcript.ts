/** Parses the numbered messages of a prompt: the analyst knows nothing but the prompt. */

const HEAD = /^\[(\d+)\] (system|user|assistant|tool)(?: calls (\S+))?: ?(.*)$/;

interface Message {
  step: number;
  role: string;
  call: string | null;
  text: string;
}

/** A tool call and what came back, a text of the assistant, or what somebody else said. */
export interface Turn {
  /** Number of the message. */
  step: number;
  role: string;
  text?: string;
  call?: { name: string; arguments: Record<string, unknown> };
  /** What the tool returned; empty when the episode ended before it did. */
  observation?: string;
  /** The observation as JSON; null where it is none. */
  result?: unknown;
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

/** The turns of an episode, each call with its result. */
export function parseTurns(text: string): Turn[] {
  const turns: Turn[] = [];
  const unanswered: Turn[] = [];
  for (const { step, role, call, text: content } of parseMessages(text)) {
    const asked = role === 'tool' ? unanswered.shift() : undefined;
    if (call !== null) {
      const turn = { step, role, call: { name: call, arguments: parseObject(content) }, observation: '', result: null };
      turns.push(turn);
      unanswered.push(turn);
    } else if (asked) {
      asked.observation = content;
      asked.result = parseJson(content);
    } else turns.push({ step, role, text: content });
  }
  return turns;
}

/** The JSON object that a text is; empty where it is none. */
export function parseObject(text: string): Record<string, unknown> {
  const value = parseJson(text);
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
