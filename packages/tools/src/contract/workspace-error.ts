import { MillraceError } from '@millrace/core';

/** The codes of `WorkspaceError`. */
export type WorkspaceErrorCode =
  /** The path leads outside the root through `..`, an absolute path or a symbolic link. */
  | 'outside'
  /**
   * A write through a symbolic link to a file that can run code was refused. The caller must use the real
   * path.
   */
  | 'protected_link'
  | 'not_found'
  /** The file existed at the start of the operation, and was deleted during the operation. */
  | 'vanished'
  /** A different process changed the file, or a folder on its path, during the operation. */
  | 'changed'
  /** The operation must create a new file, but the path already exists. */
  | 'exists'
  | 'folder'
  | 'not_a_folder'
  /** The path is a FIFO, a device or a socket. */
  | 'not_regular'
  | 'too_large'
  | 'denied'
  | 'no_space'
  | 'bad_path'
  /**
   * The operating system refused the operation for a different reason. The message contains the system's
   * error code.
   */
  | 'system';

/**
 * Thrown when an operation in a workspace fails. The message addresses the model and suggests the next step.
 */
export class WorkspaceError extends MillraceError<WorkspaceErrorCode> {
  constructor(code: WorkspaceErrorCode, path: string, state: string, options?: ErrorOptions) {
    super(code, `Cannot use ${displayPath(path)}: ${state}`, { path }, options);
  }
}

// Maximum length of a path in a message. A path from a model can have any length and contain any character.
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
  EINVAL: { code: 'bad_path', state: 'the file system does not accept such a name' },
  EIO: { code: 'system', state: 'the system cannot read or write it' },
  ELOOP: { code: 'bad_path', state: 'its symbolic links form a loop' },
};

/** Returns the `code` of an error. Returns an empty text if the error has no code. */
export function errorCodeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/**
 * Converts an error of the operating system into a `WorkspaceError`. Other errors are returned
 * unchanged.
 */
export function fromSystemError(path: string, error: unknown): unknown {
  const code = errorCodeOf(error);
  if (error instanceof WorkspaceError || !/^E[A-Z0-9]+$/.test(code)) return error;
  const { code: ours, state } = systemErrors[code] ?? { code: 'system' as const, state: code };
  return new WorkspaceError(ours, path, `${state} (${code})`, { cause: error });
}
