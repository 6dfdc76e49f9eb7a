import type { LeftOut } from '../../contracts/artifacts/trajectory';
import type { Format } from '../format';
import { aliasesOf, idOf, type Sink } from '../fragment';
import { type Fields, fieldsOf, listOf, textOf, timeOf, toolsOf, unpacked } from '../values';
import { answered, asked } from './message-parts';

/**
 * Langfuse: traces with their observations and scores as its API and the download of a trace have them, and
 * observations, scores and traces of table exports, a row a line. Of the observations, generations are read; of a trace
 * without any, its input and output.
 */
export const langfuse: Format = {
  name: 'langfuse',
  detects: (record) =>
    isTrace(record) || isTrace(fieldsOf(record['trace'])) || isObservation(record) || isScore(record),
  read(record, _head, sink) {
    if (isTrace(fieldsOf(record['trace']))) {
      readTrace({ observations: record['observations'], scores: record['scores'], ...fieldsOf(record['trace']) }, sink);
    } else if (isObservation(record)) readObservation(record, null, sink);
    else if (isScore(record)) readScore(record, sink);
    else readTrace(record, sink);
  },
};

/** A member by its name in the API, or in exports to files. */
const member = (fields: Fields, name: string): unknown =>
  fields[name] ?? fields[name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];

const isTrace = (fields: Fields): boolean =>
  typeof fields['id'] === 'string' &&
  typeof fields['timestamp'] === 'string' &&
  ('observations' in fields || 'htmlPath' in fields || ('input' in fields && 'output' in fields && 'tags' in fields));

const isObservation = (fields: Fields): boolean =>
  typeof member(fields, 'traceId') === 'string' &&
  /^[A-Z]+$/.test(String(fields['type'])) &&
  ('input' in fields || member(fields, 'startTime') !== undefined);

const isScore = (fields: Fields): boolean =>
  typeof member(fields, 'traceId') === 'string' &&
  typeof fields['name'] === 'string' &&
  ('value' in fields || member(fields, 'stringValue') !== undefined) &&
  !('input' in fields);

function readTrace(trace: Fields, sink: Sink): void {
  const observations = listOf(trace['observations']).map(fieldsOf);
  const generations = observations.filter((one) => one['type'] === 'GENERATION');
  for (const generation of generations) readObservation(generation, textOf(member(trace, 'sessionId')), sink);
  for (const score of listOf(trace['scores']).map(fieldsOf)) readScore({ traceId: trace['id'], ...score }, sink);
  if (generations.length > 0) return;
  // Lists of traces have the ids of observations alone.
  const own = { ...trace, type: 'GENERATION', traceId: trace['id'], startTime: trace['timestamp'] };
  readObservation(own, null, sink);
}

function readObservation(observation: Fields, session: string | null, sink: Sink): void {
  if (observation['type'] !== 'GENERATION') return;
  const trace = idOf(String(member(observation, 'traceId')));
  const leftOut = new Set<LeftOut>();
  const input = unpacked(observation['input']);
  const messages = [...asked(input, leftOut), ...answered(observation['output'], leftOut)];
  if (messages.length === 0) return sink.leaveOut('a generation without messages (input, output)');
  const id = session ?? textOf(member(observation, 'sessionId'));
  const key = idOf(id ?? trace);
  const offered = fieldsOf(input)['tools'] ?? fieldsOf(unpacked(member(observation, 'modelParameters')))['tools'];
  sink.fragment({
    format: 'langfuse',
    key,
    aliases: aliasesOf(key, [trace]),
    trace,
    model: textOf(observation['model'], member(observation, 'providedModelName')),
    startedAt: timeOf(member(observation, 'startTime')),
    messages,
    leftOut: [...leftOut],
    ...toolsOf(offered),
  });
}

/** A score of an observation counts for its trace. */
function readScore(score: Fields, sink: Sink): void {
  const trace = textOf(member(score, 'traceId'), member(score, 'sessionId'));
  const [value, words] = [score['value'], member(score, 'stringValue')];
  // Of a boolean, the value is 0 or 1; of a category its place in the list.
  const said = member(score, 'dataType') === 'CATEGORICAL' ? (words ?? value) : (value ?? words);
  if (trace === null || said === null || said === undefined) return sink.leaveOut('a score without a trace or a value');
  const at = timeOf(score['timestamp'] ?? member(score, 'createdAt'));
  sink.score({ conversation: idOf(trace), name: textOf(score['name']) ?? 'score', value: said, from: 'trace', at });
}
