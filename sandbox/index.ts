export { type EnvironmentIsolation, EnvironmentProcess } from './environment-process';
export { SandboxError, SandboxUnavailable } from './errors';
export { isInKubernetes, isUnsafeAllowed, openEnvironment, type OpenEnvironmentOptions } from './open-environment';
export { EnvironmentPool } from './pool';
export { type JailProbe, probeJail } from './probe';
export { type JailProfile, type LoadedProfile, loadProfile } from './profile';
