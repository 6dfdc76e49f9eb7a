// tier: unit
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { adapterKey, calibrationKey } from '../../../activities/reuse/content-keys';
import type { PreparedSpec } from '../../../contracts/artifacts/prepared-spec';
import { trainingJobSchema } from '../../../contracts/artifacts/training';

const JOB_FIXTURE = join(__dirname, '..', '..', 'fixtures', 'training-job.json');
const job = trainingJobSchema.parse(JSON.parse(readFileSync(JOB_FIXTURE, 'utf8')));
const keyOf = (version: string, image: string | null) => adapterKey(job, 'b'.repeat(64), { version, image }).sha256;

test('an adapter depends on the version of its trainer, and on the image that it ran in', () => {
  const keys = [keyOf('1', null), keyOf('2', null), keyOf('1', 'trainer@sha256:aa'), keyOf('1', 'trainer@sha256:bb')];
  expect(new Set(keys).size).toBe(keys.length);
});

test('a calibration depends on the parsers with which the server reads the model, where they are named', () => {
  const keyWith = (vllm?: object) => {
    const spec = { calibration: {}, environment: {}, training: {}, model: { name: 'm', ...(vllm && { vllm }) } };
    const served = { servedModel: { maxModelLength: 2048 }, sandbox: { mode: 'jail' } };
    const prepared = { spec, baseModelSha256: 'b'.repeat(64), ...served } as unknown as PreparedSpec;
    return calibrationKey(prepared, 'e'.repeat(64), 1).sha256;
  };
  const keys = [{}, { toolCallParser: 'hermes' }, { toolCallParser: 'qwen3_coder' }, { reasoningParser: 'qwen3' }];
  expect(new Set(keys.map(keyWith)).size).toBe(keys.length);
  expect(keyWith({ maxAdapters: 8 })).toBe(keyWith());
});
