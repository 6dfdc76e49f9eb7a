export * from './artifact-store';
export * from './errors';
export * from './layout';
export * from './local-store';
