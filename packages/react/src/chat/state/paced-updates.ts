/** The shortest time between two updates, in ms: two frames of a usual screen. */
const shortestMs = 32;

/** The longest time between two updates, in ms. */
const longestMs = 120;

/** The time between two updates is at least this multiple of the time that a frame takes. */
const restFactor = 10;

/**
 * Returns a function that requests an update. The first update runs at once. Later updates wait until
 * enough time has passed since the last one, and then run once for all requests.
 *
 * Text that streams arrives more often than a reader can see, and each update needs a new layout and a
 * new picture of the page. If a frame takes long, for example on a phone, updates become rarer, so that
 * the page has time for the user.
 */
export function pacedUpdates(update: () => void): () => void {
  let intervalMs = shortestMs;
  let isDue = false;
  let isWaiting = false;
  let isMeasuring = false;

  const run = () => {
    isWaiting = isDue;
    if (!isDue) return;
    isDue = false;
    setTimeout(run, intervalMs);
    update();
    // A hidden page has no frames until the user returns.
    if (isMeasuring || !globalThis.requestAnimationFrame) return;
    isMeasuring = true;
    requestAnimationFrame((startedAt) =>
      // The browser runs this timer after it has painted.
      setTimeout(() => {
        isMeasuring = false;
        const restMs = restFactor * (performance.now() - startedAt);
        // A single slow frame can have another cause, such as a garbage collection.
        intervalMs = (intervalMs + Math.min(Math.max(restMs, shortestMs), longestMs)) / 2;
      }),
    );
  };

  return () => {
    isDue = true;
    if (!isWaiting) run();
  };
}
