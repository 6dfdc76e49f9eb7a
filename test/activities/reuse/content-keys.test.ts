// tier: unit
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { adapterKey } from '../../../activities/reuse/content-keys';
import { trainingJobSchema } from '../../../contracts/artifacts/training';

const JOB_FIXTURE = join(__dirname, '..', '..', 'fixtures', 'training-job.json');
const job = trainingJobSchema.parse(JSON.parse(readFileSync(JOB_FIXTURE, 'utf8')));
const keyOf = (version: string, image: string | null) => adapterKey(job, 'b'.repeat(64), { version, image }).sha256;

test('an adapter depends on the version of its trainer, and on the image that it ran in', () => {
  const keys = [keyOf('1', null), keyOf('2', null), keyOf('1', 'trainer@sha256:aa'), keyOf('1', 'trainer@sha256:bb')];
  expect(new Set(keys).size).toBe(keys.length);
});
