import { MillraceError } from '@millrace/core';

export type WorkspaceErrorCode =
  /** It leads out of the root: by `..`, an absolute path or a link. */
  | 'outside'
  | 'not_found'
  /** It was there a moment ago. */
  | 'vanished'
  /** Another process changed it, or something on the way to it, in between. */
  | 'changed'
  | 'folder'
  | 'not_a_folder'
  /** A FIFO, a device, a socket. */
  | 'not_regular'
  | 'too_large'
  | 'denied'
  | 'no_space'
  | 'bad_path'
  /** Anything else that the system refused; its own code is in the message. */
  | 'system';

/** Why something in a workspace could not be done, in words that help a model to go on. */
export class WorkspaceError extends MillraceError<WorkspaceErrorCode> {
  constructor(code: WorkspaceErrorCode, path: string, state: string, options?: ErrorOptions) {
    super(code, `Cannot use ${displayPath(path)}: ${state}`, { path }, options);
  }
}

// A path of a model may be of any length, and have anything in it.
const maxShownLength = 300;

function displayPath(path: string): string {
  const shown = path.length > maxShownLength ? `${path.slice(0, maxShownLength)}…` : path;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to show as escapes
  return shown === '' || /[\u0000-\u001f\u007f\s]/.test(shown) ? JSON.stringify(shown) : shown;
}

interface SystemErrorText {
  readonly code: WorkspaceErrorCode;
  readonly state: string;
}

const systemErrors: Readonly<Record<string, SystemErrorText>> = {
  EACCES: { code: 'denied', state: 'this process has no permission for it' },
  EPERM: { code: 'denied', state: 'the system does not permit it' },
  EROFS: { code: 'denied', state: 'its file system is read-only' },
  ENOSPC: { code: 'no_space', state: 'the disk is full' },
  EDQUOT: { code: 'no_space', state: 'the disk quota is used up' },
  EFBIG: { code: 'no_space', state: 'it would be larger than this process may write' },
  ENAMETOOLONG: { code: 'bad_path', state: 'the name is too long for the file system' },
  EINVAL: { code: 'bad_path', state: 'the file system does not take such a name' },
  EIO: { code: 'system', state: 'the system cannot read or write it' },
  ELOOP: { code: 'bad_path', state: 'its symbolic links lead in a circle' },
};

export function errorCodeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** What the system said about a path, as an error of ours. One of ours stays as it is. */
export function fromSystemError(path: string, error: unknown): unknown {
  const code = errorCodeOf(error);
  if (error instanceof WorkspaceError || !/^E[A-Z0-9]+$/.test(code)) return error;
  const { code: ours, state } = systemErrors[code] ?? { code: 'system' as const, state: code };
  return new WorkspaceError(ours, path, `${state} (${code})`, { cause: error });
}
