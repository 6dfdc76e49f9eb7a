import type { LeftOut } from '../../../contracts/artifacts/trajectory';
import type { Format } from '../../format';
import { aliasesOf, idOf, type Scored, type Sink } from '../../fragment';
import { verdictOf } from '../../outcomes/outcome-value';
import { type Fields, fieldsOf, listOf, timeOf } from '../../values';
import { type Attributes, attributesOf, plainValue, textIn } from './attributes';
import { isMessageEvent, spokenIn, spokenInEvent, spokenInEvents } from './spoken';

/** Attributes that name the conversation, in their order. Without one it is the trace. */
const IDS = [
  'gen_ai.conversation.id',
  'session.id',
  'langfuse.session.id',
  'traceloop.association.properties.session_id',
];
const MODELS = ['gen_ai.response.model', 'gen_ai.request.model', 'llm.model_name', 'ai.model.id'];
/** Name of the event with the result of an evaluation. */
const EVALUATION = 'gen_ai.evaluation.result';
/** Name of the event that has all messages of a request. */
const DETAILS = 'gen_ai.client.inference.operation.details';

/**
 * OTLP's JSON (`resourceSpans`, `resourceLogs`), as the OpenTelemetry collector writes it. Messages are read in the
 * attribute forms of OpenTelemetry's gen_ai conventions, of OpenLLMetry, of OpenInference and of the AI SDK, and in
 * events. Evaluations are scores.
 */
export const otlp: Format = {
  name: 'otlp',
  detects: ({ resourceSpans, resourceLogs }) => Array.isArray(resourceSpans) || Array.isArray(resourceLogs),
  read(record, _head, sink) {
    for (const resource of listOf(record['resourceSpans']).map(fieldsOf))
      for (const scope of listOf(resource['scopeSpans'] ?? resource['instrumentationLibrarySpans']).map(fieldsOf))
        for (const span of listOf(scope['spans']).map(fieldsOf)) readSpan(span, sink);
    for (const resource of listOf(record['resourceLogs']).map(fieldsOf))
      for (const scope of listOf(resource['scopeLogs']).map(fieldsOf))
        for (const log of listOf(scope['logRecords']).map(fieldsOf)) readLog(log, sink);
  },
};

interface Ids {
  key: string;
  trace: string | null;
}

/** What a span and an event of a log say alike. */
const fragmentOf = ({ key, trace }: Ids, attributes: Attributes) => ({
  format: 'otlp' as const,
  key,
  aliases: aliasesOf(key, [trace]),
  ...(trace !== null && { trace: idOf(trace) }),
  model: textIn(attributes, ...MODELS),
});

/** The ids of a conversation. Null: there is none. */
function idsOf({ traceId }: Fields, attributes: Attributes): Ids | null {
  const trace = typeof traceId === 'string' && traceId !== '' ? traceId.toLowerCase() : null;
  const id = textIn(attributes, ...IDS) ?? trace;
  return id === null ? null : { key: idOf(id), trace };
}

function readSpan(span: Fields, sink: Sink): void {
  const attributes = attributesOf(span['attributes']);
  const ids = idsOf(span, attributes);
  const leftOut = new Set<LeftOut>();
  for (const event of listOf(span['events']).map(fieldsOf))
    if (event['name'] === EVALUATION) readEvaluation(span, attributesOf(event['attributes']), sink);
  const spoken = spokenIn(attributes, leftOut) ?? detailsIn(span, leftOut);
  const messages = spoken?.messages ?? spokenInEvents(span['events'], leftOut);
  if (messages.length === 0) {
    if (isModelSpan(attributes))
      sink.leaveOut('a span of a model without messages (gen_ai.input.messages), unless events have them');
    return;
  }
  if (ids === null) return sink.leaveOut('a span without a trace (traceId)');
  sink.fragment({
    ...fragmentOf(ids, attributes),
    startedAt: timeOf(span['startTimeUnixNano']),
    messages,
    leftOut: [...leftOut],
    ...(spoken?.tools && { tools: spoken.tools }),
  });
}

function detailsIn(span: Fields, leftOut: Set<LeftOut>) {
  const details = listOf(span['events'])
    .map(fieldsOf)
    .find(({ name }) => name === DETAILS);
  return details === undefined ? null : spokenIn(attributesOf(details['attributes']), leftOut);
}

/** Whether a span is a conversation with a model, by any of the conventions. */
const isModelSpan = (attributes: Attributes): boolean =>
  /^(?:chat|generate_content|text_completion)$/.test(textIn(attributes, 'gen_ai.operation.name') ?? '') ||
  attributes.get('openinference.span.kind') === 'LLM' ||
  attributes.get('llm.request.type') === 'chat';

/** An event in a log: a message of a request, all of them, or an evaluation. */
function readLog(log: Fields, sink: Sink): void {
  const attributes = attributesOf(log['attributes']);
  const name = log['eventName'] ?? attributes.get('event.name');
  if (name === EVALUATION) return readEvaluation(log, attributes, sink);
  const ids = idsOf(log, attributes);
  const leftOut = new Set<LeftOut>();
  const details = name === DETAILS ? spokenIn(attributes, leftOut) : null;
  const messages =
    details?.messages ??
    (isMessageEvent(name) ? spokenInEvent(name, attributes, fieldsOf(plainValue(log['body'])), leftOut) : []);
  if (ids === null || messages.length === 0) return;
  sink.fragment({
    ...fragmentOf(ids, attributes),
    startedAt: timeOf(log['timeUnixNano'] ?? log['observedTimeUnixNano']),
    messages,
    leftOut: [...leftOut],
    ...(details?.tools && { tools: details.tools }),
    // Messages of one request have its span in common.
    ...(details === null && typeof log['spanId'] === 'string' && { piece: log['spanId'] }),
  });
}

/** A label that says pass or fail counts more than a value, whose scale is not told. */
function readEvaluation(record: Fields, attributes: Attributes, sink: Sink): void {
  const ids = idsOf(record, attributes);
  const label = attributes.get('gen_ai.evaluation.score.label');
  const value = verdictOf(label) === null ? (attributes.get('gen_ai.evaluation.score.value') ?? label) : label;
  if (ids === null || value === undefined) return sink.leaveOut('an evaluation without a trace or a score');
  const scored: Omit<Scored, 'conversation'> = {
    name: textIn(attributes, 'gen_ai.evaluation.name') ?? 'evaluation',
    value,
    from: 'trace',
    at: timeOf(record['timeUnixNano'] ?? record['endTimeUnixNano'] ?? record['startTimeUnixNano']),
  };
  sink.score({ conversation: ids.trace === null ? ids.key : idOf(ids.trace), ...scored });
}
