export { type EnvironmentIsolation, EnvironmentProcess } from './environment-process';
export { SandboxError, SandboxUnavailable } from './errors';
export type {
  EnvironmentSource,
  ModuleSource,
  OwnersCommand,
  ProcessSource,
  ProgramSource,
} from './environment-source';
export type { EnvironmentHandle } from './environment-handle';
export { isInKubernetes, isUnsafeAllowed } from './isolation';
export { openEnvironment } from './open-environment';
export { programPath, type ProgramStart, startCommand } from './owner-command';
export { launchProgram, type LaunchProgram, type RunningProgram } from './launch-program';
export { EnvironmentPool } from './pool';
export { type JailProbe, probeJail } from './probe';
export { type JailProfile, type LoadedProfile, loadProfile } from './profile';
