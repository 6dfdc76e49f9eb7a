import { randomBytes } from 'node:crypto';
import type { Canary, Registry } from '../../contracts/artifacts/registry';
import { percentText } from '../../contracts/share-text';
import { endCanary, LocalStore, startCanary } from '../../store';
import type { Context } from '../context';
import { CliError } from '../errors';
import { changeOrRefuse, readAgentRegistry, requireVersions, servedName } from './registry';

/** Flags of `whet canary`. */
export interface CanaryFlags {
  /** Share of new conversations, in (0, 0.5]. */
  share: number;
  /** Probability of a rollback of a canary that is as good as the active version, in (0, 0.4]. */
  falseRollback: number;
  stop?: boolean;
}

/** `whet canary AGENT [VERSION] [--share S] [--stop]`: starts, shows or stops a canary. */
export async function canaryCommand(
  context: Context,
  agent: string,
  version: number | undefined,
  flags: CanaryFlags,
): Promise<void> {
  const { settings, out } = context;
  const store = new LocalStore(settings.storeRoot);
  const registry = await readAgentRegistry(store, agent);
  requireVersions(context, agent, registry);
  if (flags.stop === true) {
    if (version !== undefined)
      throw new CliError('--stop takes no version: it ends the canary that is on.', {
        type: 'Canary.Usage',
      });
    await changeOrRefuse(store, agent, (now) => endCanary(now, 'stopped', 'Stopped by hand.'));
    return out.result(
      { agent, active: registry.active, canary: null },
      `${agent}: no canary any more; all conversations go to ${servedName(registry.active)}`,
    );
  }
  if (version === undefined)
    return out.result(
      { agent, active: registry.active, canary: registry.canary ?? null, lastCanary: registry.lastCanary ?? null },
      describe(registry),
    );
  const canary: Canary = {
    id: randomBytes(6).toString('hex'),
    version,
    share: flags.share,
    falseRollback: flags.falseRollback,
    startedAt: new Date().toISOString(),
  };
  await changeOrRefuse(store, agent, (now) => startCanary(now, canary));
  out.result(
    { agent, active: registry.active, canary },
    `${agent}: version ${version} gets ${percent(flags.share)} of new conversations, ` +
      `${servedName(registry.active)} the rest.\n` +
      `Post outcomes to the gateway's /v1/outcomes; a significant loss rolls it back. ` +
      `Go on with \`whet promote ${agent} ${version}\` or \`whet canary ${agent} --stop\`.`,
  );
}

const percent = (share: number): string => percentText(share, 0);

function describe({ agent, active, canary, lastCanary }: Registry): string {
  const now =
    canary === undefined
      ? `${agent}: no canary; all conversations go to ${servedName(active)}`
      : `${agent}: version ${canary.version} gets ${percent(canary.share)} of conversations ` +
        `since ${canary.startedAt}, ${servedName(active)} the rest`;
  return lastCanary === undefined
    ? now
    : `${now}\nthe last one, version ${lastCanary.version}: ${lastCanary.outcome}, ${lastCanary.endedAt}. ` +
        lastCanary.reason;
}
