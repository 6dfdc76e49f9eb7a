import type { V1PodSecurityContext } from '@kubernetes/client-node';

/**
 * The part of a pod's security context that names its AppArmor profile; empty where nothing was asked for.
 * @param profile `RuntimeDefault`, `Unconfined` or `localhost/<name>`.
 */
export function appArmorProfile(profile: string | undefined): Pick<V1PodSecurityContext, 'appArmorProfile'> {
  if (profile === undefined) return {};
  const local = profile.startsWith('localhost/') ? profile.slice('localhost/'.length) : null;
  return { appArmorProfile: local === null ? { type: profile } : { type: 'Localhost', localhostProfile: local } };
}
