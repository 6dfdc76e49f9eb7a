export { type EnvironmentIsolation, EnvironmentProcess } from './environment-process';
export {
  BadOutput,
  BadRequest,
  BadReturn,
  EnvironmentClosed,
  EnvironmentDied,
  EnvironmentHung,
  EnvironmentKilled,
  EnvironmentRaised,
  EnvironmentStartFailed,
  NoSuchEpisode,
  OutputFlood,
  SandboxError,
  SandboxUnavailable,
} from './errors';
export { isInKubernetes, isUnsafeAllowed, openEnvironment, type OpenEnvironmentOptions } from './open-environment';
export { EnvironmentPool } from './pool';
export { type JailProbe, probeJail } from './probe';
export { type JailProfile, type LoadedProfile, loadProfile } from './profile';
