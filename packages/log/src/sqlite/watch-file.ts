import { type FSWatcher, watch } from 'node:fs';

/**
 * The interval of the check without an event, in milliseconds. The check is needed, because file system
 * events may be lost.
 */
const safetyIntervalMs = 1000;
/**
 * The delays in milliseconds after which the version is checked again. The event arrives when a commit is
 * written. The commit becomes visible slightly later, for example after the disk has synced. That moment
 * causes no event.
 */
const recheckDelaysMs: readonly number[] = [1, 5, 25, 125];

/**
 * Calls the listener when the file changes and `versionOf` returns a new version. Commits of this connection
 * do not change the version. Returns a function that stops watching.
 */
export function watchFile(path: string, versionOf: () => number, listener: () => void): () => void {
  const versionOrNone = () => {
    try {
      return versionOf();
    } catch {
      return undefined;
    }
  };
  let version = versionOrNone();
  let isDue = false;
  let isStopped = false;
  let checks = 0;
  let later: NodeJS.Timeout | undefined;
  const check = () => {
    if (isStopped) return;
    const now = versionOrNone();
    // If the version cannot be read, the listener is called too. The listener reads the file itself and
    // reports the error.
    if (now !== undefined && now === version) return;
    version = now;
    listener();
  };
  const checkRepeatedly = () => {
    isDue = false;
    check();
    const waitMs = recheckDelaysMs[checks++];
    if (waitMs !== undefined && !isStopped) later = setTimeout(checkRepeatedly, waitMs);
  };
  const notice = () => {
    checks = 0;
    // A commit causes several events, but one check is enough.
    if (isDue) return;
    isDue = true;
    clearTimeout(later);
    setImmediate(checkRepeatedly);
  };
  // The watcher or the timer keeps the process alive while a follower waits for records.
  const watcher = watchOrNone(path, notice);
  const timer = setInterval(check, safetyIntervalMs);
  if (watcher !== undefined) timer.unref();
  return () => {
    isStopped = true;
    watcher?.close();
    clearInterval(timer);
    clearTimeout(later);
  };
}

/**
 * Starts a watcher. Returns `undefined` if the system cannot start a watcher. The regular check still works
 * in that case.
 */
function watchOrNone(path: string, notice: () => void): FSWatcher | undefined {
  try {
    return watch(path, { persistent: true }, notice).on('error', () => {});
  } catch {
    return undefined;
  }
}
