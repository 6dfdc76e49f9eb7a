// jail
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Isolation } from '../../sandbox/launch';
import { jailProcesses } from './hostile';

describe.each<Isolation>(['process', 'jail'])('a %s', (isolation) => {
  test('that finds no descriptor left is a typed error, and the program lives on', () => {
    const hook = join(__dirname, '..', 'run-typescript.js');
    const script = join(__dirname, 'full-descriptors.ts');
    const output = execFileSync(process.execPath, ['-r', hook, script, isolation], { encoding: 'utf8' });
    expect(JSON.parse(output)).toEqual({
      type: 'Sandbox.StartFailed',
      retryable: true,
      message: expect.stringContaining('EMFILE') as string,
    });
    expect(jailProcesses()).toEqual([]);
  });
});
