// Tier: unit.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MemoryRoom, memoryOfTrainer } from '../../../activities/train/memory-room';
import { preparedSpecSchema } from '../../../contracts/artifacts/prepared-spec';
import type { GroupMember } from '../../../k8s/group-member';

const GB = 1e9;

test('trainers that may need more than there is together run one after the other', () => {
  const room = new MemoryRoom(16 * GB);
  expect(room.enter('/a', 'a', 10 * GB)).toBe(true);
  expect(room.enter('/b', 'b', 10 * GB)).toBe(false);
  expect(room.enter('/c', 'c', 6 * GB)).toBe(true);
  room.leave('/a', 'a');
  expect(room.enter('/b', 'b', 10 * GB)).toBe(true);
  expect(room.taken).toBe(16 * GB);
});

test('a trainer that may need more than there is runs alone, and one that runs already is counted', () => {
  const room = new MemoryRoom(16 * GB);
  expect(room.enter('/a', 'a', 40 * GB)).toBe(true);
  expect(room.enter('/b', 'b', 1 * GB)).toBe(false);
  expect(room.enter('/b', 'b', 1 * GB, { runs: true })).toBe(true);
  room.leave('/a', 'a');
  expect(room.enter('/a', 'a', 40 * GB)).toBe(false);
});

test('a pack keeps its room until the last of its trainings has left', () => {
  const room = new MemoryRoom(16 * GB);
  expect([room.enter('/pack', 'a', 10 * GB), room.enter('/pack', 'b', 10 * GB)]).toEqual([true, true]);
  expect(room.taken).toBe(10 * GB);
  room.leave('/pack', 'a');
  expect(room.enter('/c', 'c', 10 * GB)).toBe(false);
  room.leave('/pack', 'b');
  expect(room.enter('/c', 'c', 10 * GB)).toBe(true);
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
      baseModelSha256: '1'.repeat(64),
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
    return memoryOfTrainer({ kind, prepared, group });
  };
  expect(of(1)).toBe(0);
  const sizes = {
    vocab_size: 100,
    hidden_size: 10,
    num_hidden_layers: 2,
    num_attention_heads: 2,
    intermediate_size: 40,
  };
  writeFileSync(join(modelPath, 'config.json'), JSON.stringify(sizes));
  const weights = 4 * (2 * 100 * 10 + 2 * (10 * 40 + 3 * 10 * 40));
  expect(of(2) - of(1)).toBe(of(1) - weights);
  expect(of(1, 'trial')).toBe(0);
  rmSync(modelPath, { recursive: true });
});
