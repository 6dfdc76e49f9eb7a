/** One training, as whoever runs its trainer knows it. */
export interface GroupMember {
  /** The capability, or whatever else the adapter is named after. */
  capability: string;
  /** Key of the training's directory in the store. */
  directoryKey: string;
  /** Absolute path of that directory, the same in the pod and on the worker. */
  directory: string;
}

/** The trainer's argument for a training, after `--job`. */
export const jobFilePath = (directory: string): string => `${directory}/job.json`;
