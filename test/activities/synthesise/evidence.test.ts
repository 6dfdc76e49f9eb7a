// tier: unit
import { chooseEvidence, type Evidence, nearestTo, possibleExceptions } from '../../../activities/synthesise/evidence';
import type { ConsensusLabel, Label } from '../../../contracts/artifacts/identification';
import { syntheticEpisode } from '../../fakes/synthetic-episodes';

const record = (trajectoryId: string, label: Label | null, runs = 1): ConsensusLabel => ({
  trajectoryId,
  capabilityId: 'c',
  label,
  step: 1,
  reason: 'because',
  votes: {
    NA: label === 'NA' ? runs : 0,
    PRESENT: label === 'PRESENT' ? runs : 3 - runs,
    LACKING: label === 'LACKING' ? runs : 0,
  },
});

describe('evidence', () => {
  const labels = Array.from({ length: 40 }, (_, i) => record(`t${i}`, i % 2 === 0 ? 'LACKING' : 'PRESENT'));
  const success = new Map(labels.map(({ trajectoryId }, i) => [trajectoryId, i % 3 === 0]));

  test('is failures that lack it, then successes that show it, a few of each', () => {
    const chosen = chooseEvidence(labels, success, 1);
    expect(chosen.map(({ label, trajectoryId }) => [label, success.get(trajectoryId)])).toEqual([
      ...Array(4).fill(['LACKING', false]),
      ...Array(3).fill(['PRESENT', true]),
    ]);
  });

  test('depends on seed and ids, not on the order of the labels', () => {
    expect(chooseEvidence([...labels].reverse(), success, 1)).toEqual(chooseEvidence(labels, success, 1));
    expect(chooseEvidence(labels, success, 2)).not.toEqual(chooseEvidence(labels, success, 1));
  });

  test('is what the labelling runs agree on, before what they are split about', () => {
    const all = Array.from({ length: 40 }, (_, i) => record(`t${i}`, 'LACKING', i >= 37 ? 3 : 2));
    const chosen = chooseEvidence(all, new Map(all.map(({ trajectoryId }) => [trajectoryId, false])), 1);
    expect(
      chosen
        .slice(0, 3)
        .map(({ trajectoryId }) => trajectoryId)
        .sort(),
    ).toEqual(['t37', 't38', 't39']);
  });

  test('is empty when nothing fits', () => {
    expect(chooseEvidence([record('t', null), record('u', 'NA')], new Map([['t', false]]), 1)).toEqual([]);
  });

  test('has exceptions: successes without an occasion that open like the failures', () => {
    const na = [record('t1', 'NA'), record('t2', 'NA'), record('t3', 'LACKING')];
    const success = new Map([
      ['t1', true],
      ['t2', false],
      ['t3', true],
    ]);
    expect(possibleExceptions(na, success, 1).map(({ trajectoryId }) => trajectoryId)).toEqual(['t1']);
    const opened = (id: string, content: string): Evidence => ({
      label: record(id, 'NA'),
      trajectory: { ...syntheticEpisode(1), messages: [{ role: 'user', content }] },
    });
    const failures = [opened('f', 'cancel my booking of the blue room')];
    const far = opened('far', 'what time is it');
    const near = opened('near', 'cancel my booking of the red room');
    const nearer = opened('nearer', 'please cancel my booking of the blue room');
    expect(nearestTo(failures, [far, near, nearer]).map(({ label }) => label.trajectoryId)).toEqual(['nearer', 'near']);
  });
});
