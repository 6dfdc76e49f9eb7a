export * from './artifact-store';
export * from './dictionary';
export * from './errors';
export * from './layout';
export * from './line-file';
export * from './local-store';
export * from './registry';
export * from './replace-file';
