// tier: unit
import { layout } from '../../store';

const sha256 = 'a'.repeat(64);

test.each([
  [layout.run('r1'), 'runs/r1'],
  [layout.trajectories('r1'), 'runs/r1/trajectories'],
  [layout.labels('r1'), 'runs/r1/labels'],
  [layout.capabilities('r1'), 'runs/r1/capabilities'],
  [layout.environments('r1', 'refund'), 'runs/r1/environments/refund'],
  [layout.training('r1', 'refund'), 'runs/r1/training/refund'],
  [layout.pack('r1', 'main', 2), 'runs/r1/training/packs/main-2'],
  [layout.evaluation('r1'), 'runs/r1/evaluation'],
  [layout.report('r1'), 'runs/r1/report'],
  [layout.study('s1'), 'studies/s1'],
  [layout.work('r1', 'collect'), 'runs/r1/work/collect.jsonl'],
  [layout.targetProfile('r1', sha256), 'runs/r1/work/target-profile-aaaaaaaaaaaa.json'],
  [layout.labelsCache('desk'), 'labels-cache/desk'],
  [layout.analystUse('r1'), 'runs/r1/analyst-use.json'],
  [layout.environmentUse('r1'), 'runs/r1/environment-use.json'],
  [layout.budget('r1'), 'runs/r1/budget.json'],
  [layout.rate('0123456789abcdef'), 'rates/0123456789abcdef.json'],
  [layout.redactionSecret, 'redaction-secret.json'],
  [layout.adapters('desk'), 'adapters/desk'],
  [layout.dictionary('desk'), 'dictionary/desk.json'],
  [layout.canary('desk', 'c1'), 'canary/desk/c1'],
  [layout.traces('desk', '2026-11-22'), 'traces/desk/2026-11-22'],
  [layout.ingestedConversations('desk'), 'ingested/desk/conversations'],
  [layout.ingestedOutcomes('desk'), 'ingested/desk/outcomes'],
  [layout.ingestedRejects('desk'), 'ingested/desk/rejected'],
  [layout.registry('desk'), 'registry/desk.json'],
])('%s', (key, expected) => {
  expect(key).toBe(expected);
});
