/** All workflow types: the entry point of the bundle. */
export { deliverNotice } from './waits/deliver-notice';
export { identifyCapabilities } from './stages/identify-capabilities';
export { improvementRun } from './runs/improvement-run';
export { labelChunks } from './stages/label-chunks';
export { repairArtifacts } from './runs/repair-artifacts';
export { sharpenCapability } from './stages/sharpen-capability';
export { studyStability } from './runs/study-stability';
