import type { Clock } from '@millrace/client';

/** The page's own time, which no change of the machine's clock moves. */
export const pageClock: Clock = {
  now: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
