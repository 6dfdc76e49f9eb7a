// Tier: unit.
import { samplingSeed } from '../../../activities/rollout';
import { canonicalJson, trajectoryId } from '../../../contracts/artifacts/trajectory-id';

describe('samplingSeed', () => {
  test('is a non-negative 31-bit integer that depends on all its numbers', () => {
    const seeds = [
      samplingSeed(1, 2, 3),
      samplingSeed(1, 2, 4),
      samplingSeed(1, 3, 3),
      samplingSeed(2, 2, 3),
      samplingSeed(12, 3, 0),
      samplingSeed(1, 23, 0),
      samplingSeed(1, 2, 3, 2),
      samplingSeed(1, 2, 3, 4),
    ];
    expect(new Set(seeds).size).toBe(8);
    for (const seed of seeds) expect(Number.isInteger(seed) && seed >= 0 && seed < 2 ** 31).toBe(true);
  });

  test('never changes: stored trajectories name it', () => {
    expect(samplingSeed(1, 0, 0)).toBe(samplingSeed(1, 0, 0));
    expect([samplingSeed(1, 0, 0), samplingSeed(1, 1_000_000, 1)]).toMatchInlineSnapshot(`
     [
       691751621,
       1995479672,
     ]
    `);
  });
});

describe('trajectoryId', () => {
  const one = {
    task: { seed: 1, split: 'train' as const },
    trial: 0,
    model: 'base',
    messages: [{ role: 'user' as const, content: 'x' }],
  };

  test('does not depend on the order of keys', () => {
    expect(canonicalJson({ b: 1, a: [{ d: null, c: undefined }] })).toBe('{"a":[{"d":null}],"b":1}');
    expect(trajectoryId({ ...one, task: { split: 'train', seed: 1 } })).toBe(trajectoryId(one));
  });

  test('depends on what was said', () => {
    expect(trajectoryId({ ...one, messages: [{ role: 'user', content: 'y' }] })).not.toBe(trajectoryId(one));
  });
});
