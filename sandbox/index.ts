export { EnvironmentProcess, type EnvironmentIsolation } from './environment-process';
export * from './errors';
export { isUnsafeAllowed, openEnvironment, type OpenEnvironmentOptions } from './open-environment';
export { EnvironmentPool, type EnvironmentPoolOptions } from './pool';
export { probeJail, type JailLayer, type JailProbe } from './probe';
export { jailProfileSchema, loadProfile, profilePath, type JailProfile, type LoadedProfile } from './profile';
