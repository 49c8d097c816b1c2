import { LogError, type LogErrorCode } from '@millrace/log';

/** Adds what can be done about it here; the log itself does not know of commands. */
export function explainStoreError(error: unknown, path: string): unknown {
  const known = error instanceof LogError ? error : fileError(error, path);
  const advice = known && adviceFor(known.code, path);
  if (known === undefined || advice === undefined) return error;
  const message = `${known.message}. ${advice}`;
  return new LogError(known.code, message, known.place, { cause: error });
}

function adviceFor(code: LogErrorCode, path: string): string | undefined {
  switch (code) {
    case 'corrupt':
      return `To begin anew, move the file away (and ${path}-wal with it), or use another with --store <file>`;
    case 'too_new':
      return 'Bring millrace up to date, or use another file with --store <file>';
    case 'storage':
      return 'To use another file: --store <file>';
    default:
      return undefined;
  }
}

/** The file or its folder could not be made. */
function fileError(error: unknown, path: string): LogError | undefined {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (typeof code !== 'string' || syscall === undefined) return undefined;
  const why = meanings.get(code) ?? `the system says ${code}`;
  return new LogError('storage', `Cannot use the log at ${path}: ${why}`, { path, errno: code });
}

const meanings: ReadonlyMap<string, string> = new Map([
  ['EACCES', 'this user may not write there'],
  ['EPERM', 'this user may not change it'],
  ['EROFS', 'its disk is read-only'],
  ['ENOTDIR', 'a part of its path is a file and no folder'],
  ['EEXIST', 'a part of its path is a file and no folder'],
  ['EISDIR', 'it is a folder'],
  ['ENOSPC', 'the disk is full'],
]);
