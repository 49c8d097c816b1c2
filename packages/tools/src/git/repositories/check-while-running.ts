import type { SandboxError } from '../../contract/sandbox.ts';

/** Checks use at most 1/20 of the time, because a search of a large workspace takes long. */
const maxShare = 20;
/** Maximum time between two checks, in units of the usual time. A command can make the checks slow. */
const maxTimes = 5;
/** A search can fail once if an honest command changes the permissions of a folder for a moment. */
const maxIncomplete = 1;

/**
 * Checks again and again while a command runs. `find` returns true if there is a risk, and a problem if the search was
 * not complete. Both stop the command, because a command could hide a risk, and remove it before the last check.
 */
export function checkWhileRunning(
  find: () => Promise<boolean | SandboxError>,
  everyMs: number,
  abort: () => void,
): { readonly stop: () => void; readonly notes: () => string[] } {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  let incomplete = 0;
  const notes: string[] = [];
  const checkLater = (ms: number) => {
    timer = setTimeout(async () => {
      const start = performance.now();
      const found = await find().catch((error: unknown) => error);
      incomplete = typeof found === 'boolean' ? 0 : incomplete + 1;
      if (isOver) return;
      if (incomplete > maxIncomplete) notes.push(stoppedBy(found));
      if (found === true || incomplete > maxIncomplete) return abort();
      const restMs = Math.min(maxShare * (performance.now() - start), maxTimes * everyMs);
      checkLater(incomplete > 0 ? everyMs : Math.max(everyMs, restMs));
    }, ms).unref();
  };
  checkLater(everyMs);
  const stop = () => {
    isOver = true;
    clearTimeout(timer);
  };
  return { stop, notes: () => notes };
}

function stoppedBy(problem: unknown): string {
  const why = problem instanceof Error ? problem.message : 'unknown error';
  return `The sandbox stopped the command, because it could not search all folders while the command ran. ${why}`;
}
