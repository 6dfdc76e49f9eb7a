import { setTimeout as sleep } from 'node:timers/promises';
import { makePrivateFolder } from '../store';
import type { Output } from './output';
import type { Settings } from './settings';
import { holderOf, lockAddress, tryLock } from './supervisor/kernel-lock';

/**
 * Lets one command at a time do something in a state directory; another one waits and names the first. The kernel holds
 * the lock, so a killed process does not leave it behind.
 * @param what.purpose the name of the lock.
 * @param what.does what its holder does, for the one that waits.
 */
export async function withHomeLock<T>(
  { home }: Pick<Settings, 'home'>,
  { purpose, does }: { purpose: string; does: string },
  out: Output,
  action: () => Promise<T>,
): Promise<T> {
  await makePrivateFolder(home);
  const address = lockAddress(purpose, home);
  let said = false;
  for (;;) {
    const lock = await tryLock(address);
    if (lock !== null) {
      try {
        return await action();
      } finally {
        await lock.release();
      }
    }
    const holder = said ? null : holderOf(address);
    if (holder !== null) {
      out.line(`Waiting for process ${holder.pid}, which ${does}.`);
      said = true;
    }
    await sleep(100);
  }
}
