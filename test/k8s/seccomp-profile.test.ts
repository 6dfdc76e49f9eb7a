// unit
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../contracts/project-root';

interface Rule {
  names: string[];
  action: string;
  args?: { index: number; value: number; op: string }[];
  errnoRet?: number;
}
const profile = JSON.parse(readFileSync(join(projectRoot(), 'k8s', 'seccomp', 'whetstone-trainer.json'), 'utf8')) as {
  defaultAction: string;
  defaultErrnoRet?: number;
  architectures: string[];
  syscalls: Rule[];
};
const rulesFor = (name: string): Rule[] => profile.syscalls.filter(({ names }) => names.includes(name));

// Derived by k8s/seccomp/build (`go run . --check` compares them); these are the properties that matter.
test('calls that the profile does not name are refused', () => {
  expect(profile.defaultAction).toBe('SCMP_ACT_ERRNO');
  expect(profile.architectures).toEqual(['SCMP_ARCH_X86_64', 'SCMP_ARCH_AARCH64']);
});

test.each(['clone', 'mount', 'umount2', 'pivot_root', 'sethostname'])(
  '%s, of which bubblewrap builds the jail, is allowed',
  (name) => {
    expect(rulesFor(name)).toEqual([expect.objectContaining({ action: 'SCMP_ACT_ALLOW' })]);
    expect(rulesFor(name)[0]).not.toHaveProperty('args');
  },
);

test.each(['read', 'futex', 'execve', 'mmap', 'prlimit64', 'prctl', 'seccomp', 'arch_prctl', 'epoll_wait'])(
  '%s, which programs live on, is allowed',
  (name) => {
    expect(rulesFor(name).map(({ action }) => action)).toEqual(['SCMP_ACT_ALLOW']);
  },
);

test.each(
  [
    [
      'adjtimex',
      'clock_adjtime',
      'clock_settime',
      'settimeofday',
      'reboot',
      'syslog',
      'acct',
      'swapon',
      'quotactl',
      'modify_ldt',
      'iopl',
    ],
    ['io_uring_setup', 'io_uring_enter', 'io_uring_register', 'name_to_handle_at', 'open_by_handle_at'],
    ['process_vm_readv', 'process_vm_writev', 'ptrace', 'kcmp', 'pidfd_getfd', 'perf_event_open', 'bpf', 'userfaultfd'],
    ['unshare', 'setns', 'chroot', 'move_mount', 'fsopen', 'fsmount', 'open_tree', 'mount_setattr', 'setdomainname'],
    ['init_module', 'finit_module', 'delete_module', 'kexec_load', 'add_key', 'keyctl', 'request_key'],
  ].flat(),
)('%s is refused', (name) => {
  expect(rulesFor(name)).toEqual([]);
});

test('clone3, whose flags a filter cannot see, does not exist', () => {
  expect(rulesFor('clone3')).toEqual([{ names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: 38 }]);
});
