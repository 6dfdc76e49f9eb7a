// tier: integration
import { readFileSync, symlinkSync, unlinkSync } from 'node:fs';
import { PaidSegment } from '../../../activities/analyst/paid-segment';
import type { CallRecord } from '../../../contracts/artifacts/call-record';
import { temporaryStore } from '../../store/temporary-store';

const { store } = temporaryStore();
const call = (key: string): CallRecord => ({
  kind: 'label',
  key,
  model: 'm',
  asks: 1,
  tries: 1,
  promptTokens: 1,
  completionTokens: 1,
  cachedTokens: 0,
});

test('paid answers wait while the disk is full, and are written and counted once when there is room', async () => {
  const path = store.localPath('answers.jsonl');
  // Every write to this device fails with ENOSPC.
  symlinkSync('/dev/full', path);
  const counted: string[] = [];
  const notes: (string | undefined)[] = [];
  const { signal } = new AbortController();
  const segment = new PaidSegment(store, 'answers.jsonl', {
    ledger: { opened: () => Promise.resolve(), recorded: (_, { key }) => void counted.push(key) },
    signal,
    setNote: (note) => void notes.push(note),
  });
  const written = Promise.all(['a', 'b', 'c'].map((key) => segment.append({ key }, call(key))));
  while (notes.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(notes[0]).toContain('ENOSPC');
  expect(counted).toEqual([]);
  unlinkSync(path);
  await written;
  await segment.close();
  expect(readFileSync(path, 'utf8')).toBe('{"key":"a"}\n{"key":"b"}\n{"key":"c"}\n');
  expect(counted).toEqual(['a', 'b', 'c']);
  expect(notes.at(-1)).toBeUndefined();
});

test('a cancelled activity tries once more to write the answers that wait', async () => {
  const path = store.localPath('cancelled.jsonl');
  symlinkSync('/dev/full', path);
  const controller = new AbortController();
  const notes: (string | undefined)[] = [];
  const segment = new PaidSegment(store, 'cancelled.jsonl', {
    ledger: undefined,
    signal: controller.signal,
    setNote: (note) => void notes.push(note),
  });
  const written = segment.append({ key: 'a' }, call('a'));
  while (notes.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  unlinkSync(path);
  controller.abort(new Error('the attempt is over'));
  await written;
  expect(readFileSync(path, 'utf8')).toBe('{"key":"a"}\n');
  await segment.close();
});
