import type { WireReader } from './wire.ts';

/** Reads for a request that was not sent yet: there is nothing to be read. */
export const unopenedReader: WireReader = {
  progress: 'reading',
  about: {},
  message: () => {},
  whole: () => {},
  finish: () => ({ reason: 'unknown' }),
};
