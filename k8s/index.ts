/** The pure part; `./cluster` loads Kubernetes' client and is imported where one is needed. */
export * from './names';
export * from './job-member';
export * from './job-manifest';
export * from './report-variables';
export * from './objects';
export * from './pod-end';
export * from './reason';
export * from './next-step';
