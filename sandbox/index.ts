export { EnvironmentProcess, type EnvironmentIsolation } from './environment-process';
export * from './errors';
export { isUnsafeAllowed, openEnvironment, type OpenEnvironmentOptions } from './open-environment';
export { EnvironmentPool, type EnvironmentLease } from './pool';
export { probeJail, type JailLayer, type JailProbe } from './probe';
export { jailProfileSchema, loadProfile, type JailProfile, type LoadedProfile } from './profile';
