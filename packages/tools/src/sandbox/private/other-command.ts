import { SandboxError } from '../../contract/sandbox.ts';

/** Maximum time that a command waits for a command that must run alone, in milliseconds. */
const maxWaitMs = 10_000;

/** Waits for the end of a command that must run alone. Rejects if it takes long. */
export async function waitForOther(root: string, end: Promise<void> | undefined): Promise<void> {
  if (end === undefined) return;
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(gitRuns(root)), maxWaitMs);
  try {
    await Promise.race([end, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function gitRuns(root: string): SandboxError {
  const message =
    'The command did not run: a git command that nobody has approved runs in this folder, and no other command may change files meanwhile. Run it again later';
  return new SandboxError('cannot_confine', message, { path: root });
}

/** Returns the error for a command that must run alone. */
export function otherCommandRuns(root: string): SandboxError {
  const message =
    'The command did not run: a rule allows this git command only while no other command can change files, because they could change the repositories that git uses. End the other commands, or run it again, so that the user can be asked';
  return new SandboxError('cannot_confine', message, { path: root });
}
