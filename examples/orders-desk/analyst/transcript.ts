import { parseMessages, parseObject } from '../../shared/analyst/transcript';

export interface TranscriptCall {
  /** Number of the message that holds the call. */
  step: number;
  name: string;
  arguments: Record<string, unknown>;
  /** What the tool returned; empty when the episode ended before it did. */
  observation: string;
}

/** An episode at the orders desk as the prompt shows it. */
export interface Transcript {
  calls: TranscriptCall[];
  /** What the customer said: user messages and the answers to replies, in order. */
  customer: string[];
}

const REPLY_TOOL = 'reply';

/** Calls with their results, and the customer's sentences. */
export function parseTranscript(text: string): Transcript {
  const calls: TranscriptCall[] = [];
  const customer: string[] = [];
  const unanswered: TranscriptCall[] = [];
  for (const message of parseMessages(text)) {
    if (message.role === 'user') customer.push(message.text);
    if (message.call !== null) {
      const call = { step: message.step, name: message.call, arguments: parseObject(message.text), observation: '' };
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
