import { type FSWatcher, watch } from 'node:fs';

/** A net under the notices of the system, which may be lost: as often as nobody minds. */
const safetyIntervalMs = 1000;
/**
 * The notice comes when a commit is written, which counts only a moment later: after the disk has it,
 * where that is waited for. So one look is not enough, and of the second step there is no notice.
 */
const recheckDelaysMs: readonly number[] = [1, 5, 25, 125];

/** Tells when a file changed and, with it, the version that `versionOf` reads: commits of one's own do not count. */
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
    // One that cannot be read is for the listener to find out about, who has somebody to tell.
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
    // A commit is several writes, of which one look is enough.
    if (isDue) return;
    isDue = true;
    clearTimeout(later);
    setImmediate(checkRepeatedly);
  };
  // Whoever waits for records has something to do, even where it has nothing else.
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

/** Undefined where the system has no more of them to give: then there is the net. */
function watchOrNone(path: string, notice: () => void): FSWatcher | undefined {
  try {
    return watch(path, { persistent: true }, notice).on('error', () => {});
  } catch {
    return undefined;
  }
}
