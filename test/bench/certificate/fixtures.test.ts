// tier: unit
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readFixtures } from '../../../bench/certificate/fixtures';
import { projectRoot } from '../../../contracts/project-root';

const fixtures = readFixtures();
const of = (set: string) => fixtures.filter((fixture) => fixture.set === set);

describe('the fixtures of the certificate', () => {
  it('are forty wrong environments, ten for each capability, and ten good ones', () => {
    expect(of('good')).toHaveLength(10);
    expect(of('wrong')).toHaveLength(40);
    for (const capability of new Set(fixtures.map((fixture) => fixture.capability)))
      expect(of('wrong').filter((fixture) => fixture.capability === capability)).toHaveLength(10);
  });

  it('reach the checks without the head that gives the answer away', () => {
    for (const { source, about } of fixtures) {
      expect(source).toMatch(/^"""/);
      expect(source).not.toContain(about);
    }
  });

  it('each have their row in the README, with what their head says', () => {
    const readme = readFileSync(join(projectRoot(), 'bench/certificate/README.md'), 'utf8');
    const rows = readme.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
    for (const { name, set, kind, capability, about } of fixtures) {
      const row = rows.find((cells) => cells[1] === name);
      expect(row?.slice(1, set === 'wrong' ? 5 : 4)).toEqual(
        set === 'wrong' ? [name, kind, capability, about] : [name, capability, about],
      );
    }
  });
});
