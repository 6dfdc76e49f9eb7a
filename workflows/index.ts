/** All workflow types: the entry point of the bundle. */
export { deliverNotice } from './deliver-notice';
export { identifyCapabilities } from './identify-capabilities';
export { improvementRun } from './improvement-run';
export { labelChunks } from './label-chunks';
export { repairArtifacts } from './repair-artifacts';
export { sharpenCapability } from './sharpen-capability';
export { studyStability } from './study-stability';
