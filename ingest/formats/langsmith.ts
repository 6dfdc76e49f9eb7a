import type { LeftOut } from '../../contracts/artifacts/trajectory';
import type { Format } from '../format';
import { aliasesOf, idOf, type Sink } from '../fragment';
import { type Fields, fieldsOf, textOf, timeOf, toolsOf, unpacked } from '../values';
import { answered, asked } from './message-parts';

/** Members of a run's metadata that name its thread, in the order of LangSmith. */
const THREADS = ['session_id', 'thread_id', 'conversation_id'];

/**
 * LangSmith: runs as its API and its exports have them, and feedback. Runs of models are read; of a root, the messages
 * that its outputs hold, as LangGraph's state does.
 */
export const langsmith: Format = {
  name: 'langsmith',
  detects: (record) => isRun(record) || isFeedback(record),
  read: (record, _head, sink) => (isRun(record) ? readRun(record, sink) : readFeedback(record, sink)),
};

const isRun = (fields: Fields): boolean =>
  typeof fields['run_type'] === 'string' && ('inputs' in fields || 'outputs' in fields || 'dotted_order' in fields);

const isFeedback = (fields: Fields): boolean =>
  typeof fields['key'] === 'string' && 'run_id' in fields && ('score' in fields || 'value' in fields);

function readRun(run: Fields, sink: Sink): void {
  const id = textOf(run['id']) ?? '';
  const trace = idOf(textOf(run['trace_id'], run['id']) ?? '');
  readStatistics(run, trace, sink);
  const isModel = run['run_type'] === 'llm';
  const isRoot = run['parent_run_id'] === undefined || run['parent_run_id'] === null;
  const outputs = fieldsOf(unpacked(run['outputs']));
  if (!isModel && !(isRoot && Array.isArray(outputs['messages']))) return;
  const leftOut = new Set<LeftOut>();
  const inputs = unpacked(run['inputs']);
  const messages = isModel ? [...asked(inputs, leftOut), ...answered(outputs, leftOut)] : asked(outputs, leftOut);
  if (messages.length === 0) {
    const words = run['error'] ? 'a run of a model that failed' : 'a run of a model without messages (inputs, outputs)';
    return sink.leaveOut(words);
  }
  const extra = fieldsOf(unpacked(run['extra']));
  const metadata = fieldsOf(extra['metadata']);
  const invocation = fieldsOf(extra['invocation_params']);
  const key = idOf(textOf(...THREADS.map((name) => metadata[name])) ?? trace);
  sink.fragment({
    format: 'langsmith',
    key,
    aliases: aliasesOf(key, [trace, id]),
    trace,
    model: isModel ? textOf(outputs['model'], metadata['ls_model_name'], invocation['model']) : null,
    startedAt: timeOf(run['start_time']),
    messages,
    leftOut: [...leftOut],
    ...toolsOf(fieldsOf(inputs)['tools'] ?? invocation['tools']),
  });
}

/** Feedback in numbers: the mean of each key. */
function readStatistics(run: Fields, trace: string, sink: Sink): void {
  for (const [name, given] of Object.entries(fieldsOf(unpacked(run['feedback_stats'])))) {
    const { n, avg, values } = fieldsOf(given);
    const [word, ...others] = Object.keys(fieldsOf(values));
    const value = avg ?? (others.length === 0 ? word : undefined);
    if (n !== 0 && value !== null && value !== undefined)
      sink.score({ conversation: trace, name, value, from: 'trace' });
  }
}

function readFeedback({ key, score, value, trace_id: trace, run_id: run, created_at: at }: Fields, sink: Sink): void {
  const conversation = textOf(trace, run);
  const said = score ?? value;
  if (conversation === null || said === null || said === undefined)
    return sink.leaveOut('a feedback without a run or a score');
  sink.score({ conversation: idOf(conversation), name: String(key), value: said, from: 'trace', at: timeOf(at) });
}
