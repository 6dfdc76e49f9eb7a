export * from './analyst';
export * from './errors';
export * from './failure';
export * from './flow';
export * from './json-schema';
export * from './keys';
export * from './pool';
