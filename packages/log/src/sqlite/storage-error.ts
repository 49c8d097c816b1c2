import { isMillraceError } from '@millrace/core';
import { LogError, type LogErrorCode } from '../contract/log-error.ts';
import { readErrorOf } from './file/read-error.ts';

type Meaning = readonly [LogErrorCode, string];

const damaged: Meaning = ['corrupt', 'the file is damaged; restore a backup'];
const unreadable: Meaning = [
  'storage',
  'the disk could not read it, which may pass; check the disk, and try again before you restore a backup',
];
const full: Meaning = [
  'storage_full',
  'the disk is full, or maxBytes is reached. Nothing of this write was stored; make room',
];
const locked: Meaning = ['storage', 'another program has locked it; close that program or wait'];

/** Explanations of SQLite's primary result codes. */
const meanings: ReadonlyMap<number, Meaning> = new Map([
  // The SQL statements of this package are correct, so this error means that a different program changed the
  // tables.
  [1, damaged],
  [3, ['storage', 'access is denied; give permission for the file and its folder']],
  [5, locked],
  [
    8,
    [
      'storage',
      'it is read-only; give write permission for the file, the files beside it and its folder',
    ],
  ],
  [10, ['storage', 'the disk reported an error; check the disk']],
  [11, damaged],
  [13, full],
  [14, ['storage', 'it cannot be opened; check the folder and its permissions']],
  [15, locked],
  [18, ['storage', 'the data is too large; store it in several pieces']],
  // This package never violates a constraint, so a different program must have changed the stored data.
  [19, damaged],
  [26, ['corrupt', 'it is not a database; check the path']],
]);

/** Explanations of errors of the file system, and of invalid numbers in the database. */
const otherMeanings: ReadonlyMap<string, Meaning> = new Map([
  ['ERR_OUT_OF_RANGE', damaged],
  ['ENOSPC', full],
  ['EACCES', ['storage', 'access is denied; give permission for the file and its folder']],
  ['EROFS', ['storage', 'its disk is read-only; choose another path']],
  ['ENOENT', ['storage', 'it cannot be opened; check the folder and its permissions']],
]);

/** Converts any error into a `LogError`. */
export function storageError(error: unknown, path: string): Error {
  if (isMillraceError(error)) return error;
  const { errcode = 0, code: systemCode = '' } = error as {
    readonly errcode?: number;
    readonly code?: string;
  };
  const errno = mayBeReadError(errcode) ? readErrorOf(path) : undefined;
  const known = meanings.get(errcode & 0xff) ?? otherMeanings.get(systemCode);
  const isUnreadable = errno !== undefined || errcode === corruptFileSystem;
  const [code, why] = isUnreadable ? unreadable : (known ?? ['storage', 'the store failed']);
  const reason = error instanceof Error ? error.message : String(error);
  const text = errno === undefined ? reason : `${errno}: ${reason}`;
  const message = `Cannot use the log at ${path}: ${why} (${text})`;
  const place = { path, errcode, ...(errno !== undefined && { errno }) };
  return new LogError(code, message, place, { cause: error });
}

/** SQLite's codes for a damaged page, and for a page that the disk could not read. */
const corruptPage = 11;
const corruptFileSystem = 10 | (33 << 8);

function mayBeReadError(errcode: number): boolean {
  return (errcode & 0xff) === corruptPage || errcode === corruptFileSystem;
}
