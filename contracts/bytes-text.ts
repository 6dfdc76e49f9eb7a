/** A number of bytes in readable form: `1.2 kB`, `12.0 MB`, `1.5 GB`. */
export const bytesText = (bytes: number): string =>
  bytes < 1e6
    ? `${(bytes / 1e3).toFixed(1)} kB`
    : bytes < 1e9
      ? `${(bytes / 1e6).toFixed(1)} MB`
      : `${(bytes / 1e9).toFixed(1)} GB`;
