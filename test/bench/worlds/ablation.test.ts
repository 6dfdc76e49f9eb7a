// tier: unit
import {
  ablationRows,
  ablationTable,
  BASE_WAY,
  ORACLE_WAY,
  POOLED,
  type Way,
  type WorldWays,
} from '../../../bench/worlds/ablation';

/** A world of as many tasks, half of which each way passes more often than base. */
function worldOf(world: string, tasks: number, extra: Way[] = []): WorldWays {
  const rates = (better: number) => Array.from({ length: tasks }, (_, task) => (task % 2 === 0 ? better : 0.5));
  return {
    world,
    ways: [
      { name: BASE_WAY, rates: rates(0.5), rollouts: 0 },
      { name: 'labels alone', rates: rates(0.75), rollouts: 100 },
      { name: 'with changes', rates: rates(0.875), rollouts: 40 },
      ...extra,
      { name: ORACLE_WAY, rates: rates(1), rollouts: null },
    ],
  };
}

test('a row has the gain of a way over base, and which share of the oracle that is', () => {
  const rows = ablationRows([worldOf('desk', 40)], 1);
  expect(rows.map(({ way }) => way)).toEqual([BASE_WAY, 'labels alone', 'with changes', ORACLE_WAY]);
  const [base, labels, moving, oracle] = rows;
  expect(base!.gain).toEqual({ estimate: 0, low: 0, high: 0 });
  expect(labels!.gain.estimate).toBeCloseTo(0.125);
  expect(labels!.gain.low).toBeGreaterThan(0);
  expect(labels!.share).toMatchObject({ estimate: 0.5 });
  expect(moving!.gain.estimate).toBeCloseTo(0.1875);
  expect(moving!.rollouts).toBe(40);
  expect(oracle!.share).toEqual({ estimate: 1, low: 1, high: 1 });
});

test('the rows over all worlds count every task once and add up rollouts', () => {
  const rows = ablationRows([worldOf('small', 20), worldOf('large', 60)], 1).filter(({ world }) => world === POOLED);
  expect(rows.map(({ way }) => way)).toEqual([BASE_WAY, 'labels alone', 'with changes', ORACLE_WAY]);
  expect(rows[1]).toMatchObject({ passes: 0.625, rollouts: 200 });
  expect(rows[3]!.rollouts).toBeNull();
});

test('a way that one world lacks has no row over all worlds', () => {
  const mixed = { name: 'mixed', rates: Array.from({ length: 20 }, () => 0.75), rollouts: 0 };
  const rows = ablationRows([worldOf('with', 20, [mixed]), worldOf('without', 20)], 1);
  expect(rows.filter(({ way }) => way === 'mixed').map(({ world }) => world)).toEqual(['with']);
});

test('a world without the ways that others are compared with is an error', () => {
  expect(() => ablationRows([{ world: 'desk', ways: [] }], 1)).toThrow(/desk has no way named/);
});

test('the table has a line for each row, and a dash where nothing can be bought', () => {
  const lines = ablationTable(ablationRows([worldOf('desk', 40)], 1)).split('\n');
  expect(lines).toHaveLength(6);
  expect(lines[3]).toMatch(/^\| desk \| labels alone \| 62\.5 % \| \+12\.5 \[\+\d+\.\d, \+\d+\.\d\] \| 50\.0 % \[/);
  expect(lines[5]).toMatch(/\| – \|$/);
});
