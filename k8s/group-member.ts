/** One training of a trainer group, with the data to start and watch its trainer. */
export interface GroupMember {
  /** Name of the adapter: the capability, or `mixed` for the adapter of all environments. */
  capability: string;
  /** Key of the training's directory in the store. */
  directoryKey: string;
  /** Absolute path of that directory; the same in the pod and on the worker. */
  directory: string;
}

/** Path of a training's job file, which the trainer gets after `--job`. */
export const jobFilePath = (directory: string): string => `${directory}/job.json`;
