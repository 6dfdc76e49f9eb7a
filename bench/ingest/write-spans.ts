import { once } from 'node:events';
import { createWriteStream } from 'node:fs';

/** Spans of one trace: the agent's own, and three requests to a model, each with what was said before. */
const SPANS_PER_TRACE = 4;
/** Spans of a line, as a collector batches them. */
const SPANS_PER_LINE = 40;

const text = (key: string, value: string) => ({ key, value: { stringValue: value } });
const hex = (number: number, digits: number) => number.toString(16).padStart(digits, '0');

/** The messages up to a request, in the form of OpenTelemetry's gen_ai conventions. */
function messagesOf(trace: number, request: number) {
  const said = [
    {
      role: 'system',
      parts: [{ type: 'text', content: 'You are the support agent of a shop. Look orders up first.' }],
    },
    { role: 'user', parts: [{ type: 'text', content: `My order ${trace} arrived broken. Please refund it.` }] },
  ];
  const calls = ['find_order', 'refund'].slice(0, request).flatMap((name, i) => [
    { role: 'assistant', parts: [{ type: 'tool_call', id: `c${i}`, name, arguments: { order: trace } }] },
    { role: 'tool', parts: [{ type: 'tool_call_response', id: `c${i}`, response: { order: trace, ok: true } }] },
  ]);
  return [...said, ...calls];
}

function spanOf(trace: number, place: number) {
  const traceId = hex(trace, 32);
  const ids = { traceId, spanId: hex(trace * SPANS_PER_TRACE + place, 16) };
  const times = { startTimeUnixNano: `${1_790_000_000_000_000_000n + BigInt(trace * 1000 + place)}` };
  if (place === SPANS_PER_TRACE - 1) {
    const evaluation = [
      text('gen_ai.evaluation.name', 'solved'),
      { key: 'gen_ai.evaluation.score.value', value: { doubleValue: trace % 3 === 0 ? 0 : 1 } },
    ];
    return { ...ids, ...times, name: 'answer', events: [{ name: 'gen_ai.evaluation.result', attributes: evaluation }] };
  }
  const answer =
    place === 2
      ? { role: 'assistant', parts: [{ type: 'text', content: 'It is refunded.' }] }
      : messagesOf(trace, place + 1)[2 + 2 * place];
  return {
    ...{ ...ids, ...times, name: 'chat small-1', kind: 3 },
    attributes: [
      text('gen_ai.operation.name', 'chat'),
      text('gen_ai.request.model', 'small-1'),
      text('gen_ai.input.messages', JSON.stringify(messagesOf(trace, place))),
      text('gen_ai.output.messages', JSON.stringify([answer])),
    ],
  };
}

/**
 * Writes spans as a collector does, so that those of a trace are in several lines, far from each other.
 * @returns the number of traces.
 */
export async function writeSpans(path: string, spans: number): Promise<number> {
  const traces = Math.floor(spans / SPANS_PER_TRACE);
  const file = createWriteStream(path);
  let batch: unknown[] = [];
  const flush = async () => {
    const line = { resourceSpans: [{ resource: {}, scopeSpans: [{ scope: { name: 'shop' }, spans: batch }] }] };
    batch = [];
    if (!file.write(`${JSON.stringify(line)}\n`)) await once(file, 'drain');
  };
  for (let place = 0; place < SPANS_PER_TRACE; place++)
    for (let trace = 0; trace < traces; trace++) {
      batch.push(spanOf(trace, place));
      if (batch.length === SPANS_PER_LINE) await flush();
    }
  if (batch.length > 0) await flush();
  file.end();
  await once(file, 'close');
  return traces;
}
