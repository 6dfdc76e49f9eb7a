/** The items of a response's output. */
import type { SaidCall, SaidTexts } from '../said';

type Status = 'in_progress' | 'completed';

/** The part of an item that holds a text. */
export const textPart = (text: string) => ({ type: 'output_text' as const, text, annotations: [], logprobs: [] });

/** The part of an item that holds reasoning. */
export const reasoningPart = (text: string) => ({ type: 'reasoning_text' as const, text });

/** The part of an item that holds a refusal. */
export const refusalPart = (refusal: string) => ({ type: 'refusal' as const, refusal });

/** What the model thought. */
export const reasoningItem = (id: string, text: string, status: Status = 'completed') => ({
  id: `rs_${id}`,
  type: 'reasoning' as const,
  summary: [],
  content: status === 'completed' ? [reasoningPart(text)] : [],
  status,
});

/** What the model said. */
export const messageItem = (id: string, { text, refusal }: SaidTexts, status: Status = 'completed') => ({
  id: `msg_${id}`,
  type: 'message' as const,
  role: 'assistant' as const,
  status,
  content:
    status === 'in_progress'
      ? []
      : [...(text !== '' || refusal === '' ? [textPart(text)] : []), ...(refusal === '' ? [] : [refusalPart(refusal)])],
});

/** A call of a function. */
export const callItem = (id: string, call: SaidCall, place: number, status: Status = 'completed') => ({
  id: `fc_${id}_${place}`,
  type: 'function_call' as const,
  call_id: call.id,
  name: call.name,
  arguments: status === 'completed' ? call.arguments : '',
  status,
});
