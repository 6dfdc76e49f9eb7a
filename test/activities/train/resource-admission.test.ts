// Tier: unit.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { MODULE_FACTS } from '../../../contracts/config/environment-kinds/facts';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { ResourceAdmission, roomOfTrainer } from '../../../activities/train/resource-admission';
import { preparedSpecSchema } from '../../../contracts/artifacts/prepared-spec';
import type { GroupMember } from '../../../k8s/group-member';

const GB = 1e9;

const memory = (bytes: number) => ({ bytes: bytes * GB, threads: 0 });
const threads = (count: number) => ({ bytes: 0, threads: count });
const sixteen = () => new ResourceAdmission({ bytes: 16 * GB, threads: 2 });

test('trainers that may need more memory than there is together run one after the other', () => {
  const room = sixteen();
  expect(room.enter('/a', 'a', memory(10))).toBeNull();
  expect(room.enter('/b', 'b', memory(10))).toBe(
    'it may need 10.0 GB, and of the 16.0 GB for trainers here 10.0 GB may be needed already ' +
      '(training.updateTokens lowers it)',
  );
  expect(room.enter('/c', 'c', memory(6))).toBeNull();
  room.leave('/a', 'a');
  expect(room.enter('/b', 'b', memory(10))).toBeNull();
  expect(room.taken).toEqual(memory(16));
});

test('trainers that compute with more threads than there are cores run one after the other', () => {
  const room = sixteen();
  expect([room.enter('/a', 'a', threads(1)), room.enter('/b', 'b', threads(1))]).toEqual([null, null]);
  room.leave('/b', 'b');
  expect(room.enter('/c', 'c', threads(2))).toBe('it computes with 2 threads, and 1 of 2 cores are taken');
  room.leave('/a', 'a');
  expect(room.enter('/c', 'c', threads(2))).toBeNull();
});

test('a trainer that may need more than there is runs alone, and one that runs already is counted', () => {
  const room = sixteen();
  expect(room.enter('/a', 'a', memory(40))).toBeNull();
  expect(room.enter('/b', 'b', memory(1))).not.toBeNull();
  expect(room.enter('/b', 'b', memory(1), { runs: true })).toBeNull();
  room.leave('/a', 'a');
  expect(room.enter('/a', 'a', memory(40))).not.toBeNull();
});

test('a pack keeps its room until the last of its trainings has left', () => {
  const room = sixteen();
  expect([room.enter('/pack', 'a', memory(10)), room.enter('/pack', 'b', memory(10))]).toEqual([null, null]);
  expect(room.taken).toEqual(memory(10));
  room.leave('/pack', 'a');
  expect(room.enter('/c', 'c', memory(10))).not.toBeNull();
  room.leave('/pack', 'b');
  expect(room.enter('/c', 'c', memory(10))).toBeNull();
});

test('members of a pack share the weights; a trial, and a model of unknown sizes, count nothing', () => {
  const modelPath = mkdtempSync(join(tmpdir(), 'whet-model-'));
  const spec = {
    ...{ version: 1, name: 'desk', model: { name: 'base', path: modelPath }, training: { sampler: 'managed' } },
    analyst: { baseUrl: 'http://localhost:1/v1', model: 'a' },
    environment: {
      path: 'e.py',
      trainSeeds: { start: 0, count: 1 },
      heldOutSeeds: { start: 9, count: 1 },
      maxTurns: 4,
    },
  };
  const prepared = preparedSpecSchema.parse({
    ...{
      spec,
      modelPath,
      environmentPath: '/e.py',
      environmentSha256: '0'.repeat(64),
      facts: MODULE_FACTS,
      baseModelSha256: '1'.repeat(64),
      servedModel: { weightsSha256: null, root: null, maxModelLength: null },
    },
    modelBaseUrl: 'http://127.0.0.1:1/v1',
    analyst: { baseUrl: 'http://127.0.0.1:2/v1', model: 'a', displayName: 'a' },
    sandbox: { mode: 'jail', detail: '' },
  });
  const of = (members: number, kind: 'training' | 'trial' = 'training') => {
    const group = {
      directoryKey: 'k',
      directory: '/k',
      members: Array.from({ length: members }, () => ({}) as GroupMember),
    };
    return roomOfTrainer({ kind, prepared, group });
  };
  expect(of(1)).toEqual({ bytes: 0, threads: 1 });
  const sizes = {
    vocab_size: 100,
    hidden_size: 10,
    num_hidden_layers: 2,
    num_attention_heads: 2,
    intermediate_size: 40,
  };
  writeFileSync(join(modelPath, 'config.json'), JSON.stringify(sizes));
  const weights = 4 * (2 * 100 * 10 + 2 * (10 * 40 + 3 * 10 * 40));
  expect(of(2).bytes - of(1).bytes).toBe(of(1).bytes - weights);
  expect(of(64).threads).toBe(availableParallelism());
  expect(of(1, 'trial')).toEqual({ bytes: 0, threads: 0 });
  rmSync(modelPath, { recursive: true });
});
