// tier: unit
import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errorsOfLog, logTail, vllmStep } from '../../../cli/supervisor/log-tail';

const folder = mkdtempSync(join(tmpdir(), 'whet-log-tail-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function logOf(...lines: string[]): string {
  const path = join(folder, 'policy.log');
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}

/** Lines as vLLM 0.32 wrote them. */
const API = '(APIServer pid=8129)';
const START = '--- 2026-11-22T22:58:00.000Z start policy';
const CONFIG = [
  `${API} WARNING 11-22 22:45:53 [system_utils.py:255] This can cause fd limit errors like \`OSError: [Errno 24] Too many\`.`,
  `${API} Traceback (most recent call last):`,
  `${API}     raise ValueError(message)`,
  'pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig',
  '  Value error, User-specified max_model_len (5000) is greater than the derived max_model_len',
  '    For further information visit https://errors.pydantic.dev/2.14/v/value_error',
];

test('the end of a log larger than any string is read, and a pipe in its place is not waited for', () => {
  const path = join(folder, 'large.log');
  writeFileSync(path, '');
  truncateSync(path, 2 ** 30);
  appendFileSync(path, '\nValueError: the last\nbye\n');
  expect([logTail(path, 1), errorsOfLog(path)]).toEqual(['bye', 'ValueError: the last']);
  const pipe = join(folder, 'pipe.log');
  execFileSync('mkfifo', [pipe]);
  expect(logTail(pipe)).toBe('');
});

describe('what a log says about the end of a service', () => {
  test('is the errors without the tracebacks, of the last start', () => {
    const path = logOf(START, 'ValueError: of yesterday', START, ...CONFIG);
    expect(errorsOfLog(path)).toBe(
      'pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n' +
        'Value error, User-specified max_model_len (5000) is greater than the derived max_model_len',
    );
  });

  test('has the root cause, which a worker of vLLM wrote long before, once', () => {
    const worker = '(Worker pid=575) ERROR 11-22 22:39:22 [multiproc_executor.py:1063]';
    const path = logOf(
      START,
      `${worker} safetensors.SafetensorError: incomplete metadata, file not fully covered`,
      ...Array.from({ length: 200 }, (_, i) => `${worker}   File "/vllm/worker.py", line ${i}, in load`),
      `${worker} safetensors.SafetensorError: incomplete metadata, file not fully covered`,
      'RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}',
    );
    expect(errorsOfLog(path).split('\n')).toEqual([
      'safetensors.SafetensorError: incomplete metadata, file not fully covered',
      'RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}',
    ]);
  });

  test('of a flag that vLLM does not know leaves out its usage', () => {
    const usage = '                     [--uvicorn-log-level {critical,debug,error,info,trace,warning}]';
    const path = logOf(START, usage, 'api_server.py: error: unrecognized arguments: --no-such-flag');
    expect(errorsOfLog(path)).toBe('api_server.py: error: unrecognized arguments: --no-such-flag');
  });

  test('is its end where no line names an error', () => {
    expect(errorsOfLog(logOf(START, 'Killed'))).toContain('Killed');
    expect(errorsOfLog(join(folder, 'none.log'))).toBe('');
  });
});

test('the step of a vLLM that starts is its last message, of this start', () => {
  const step = `${API} INFO 11-22 22:33:51 [launcher.py:195] Loading weights took 12.1 seconds`;
  expect(vllmStep(logOf(START, step, 'tqdm 3/4'))).toBe('Loading weights took 12.1 seconds');
  expect(vllmStep(logOf(START, step, START))).toBe('');
  expect(vllmStep(logOf('INFO:     Started server process [27719]'))).toBe('');
});
