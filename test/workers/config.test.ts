// unit
import { join } from 'node:path';
import { projectRoot } from '../../contracts/project-root';
import { readConfig } from '../../workers/config';

test('the profile of the jail is the project’s, or the one that WHET_JAIL_PROFILE names', () => {
  const pod = join(projectRoot(), 'sandbox', 'profile-pod.json');
  expect(readConfig([], {}).jailProfile).toBe(join(projectRoot(), 'sandbox', 'profile.json'));
  expect(readConfig([], { WHET_JAIL_PROFILE: pod }).jailProfile).toBe(pod);
});

test.each(['sandbox/profile-pod.json', '/nowhere/profile.json'])(
  'WHET_JAIL_PROFILE=%s is refused with what is allowed',
  (path) => {
    expect(() => readConfig([], { WHET_JAIL_PROFILE: path })).toThrow(
      /WHET_JAIL_PROFILE=.*the absolute path of a profile: sandbox\/profile\.json/,
    );
  },
);
