/** One training of a trainer group, with the data for starting and watching its trainer. */
export interface GroupMember {
  /** Name of the adapter: the capability, or `mixed` for the adapter of all environments. */
  capability: string;
  /** Key of the training's directory in the store. */
  directoryKey: string;
  /** Absolute path of that directory; it is the same in the pod and on the worker. */
  directory: string;
}

/** Path of a training's job file, which is the trainer's argument after `--job`. */
export const jobFilePath = (directory: string): string => `${directory}/job.json`;
