const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Whether a URL's host is this machine. Throws TypeError for a text that is not a URL. */
export const isLoopback = (url: string): boolean => LOOPBACK.test(new URL(url).hostname);
