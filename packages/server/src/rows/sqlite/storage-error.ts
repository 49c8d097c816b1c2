import { isMillraceError } from '@millrace/core';
import { RowsError, type RowsErrorCode } from '../../contract/rows.ts';

type Meaning = readonly [RowsErrorCode, string];

const damaged: Meaning = ['corrupt', 'the file is damaged; restore a backup'];
const locked: Meaning = ['storage', 'another program holds it locked; close that program or wait'];

/** What SQLite's primary result codes mean for whoever uses the rows. */
const meanings: ReadonlyMap<number, Meaning> = new Map<number, Meaning>([
  [1, damaged],
  [3, ['storage', 'it may not be used; give permission for the file and its folder']],
  [5, locked],
  [8, ['storage', 'it is read-only; give write permission for the file and its folder']],
  [10, ['storage', 'the disk reported an error; check the disk']],
  [11, damaged],
  [13, ['storage', 'the disk is full; make room']],
  [14, ['storage', 'it cannot be opened; check the folder and its permissions']],
  [15, locked],
  [26, ['corrupt', 'it is not a database; check the path']],
]);

/** Does it, and says what SQLite's refusal means. */
export function withMeaning<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw meaningOf(path, error);
  }
}

function meaningOf(path: string, cause: unknown): unknown {
  if (isMillraceError(cause)) return cause;
  const { errcode } = cause as { readonly errcode?: number };
  const meaning = errcode === undefined ? undefined : meanings.get(errcode & 0xff);
  if (meaning === undefined) return cause;
  const [code, what] = meaning;
  return new RowsError(code, `Cannot use the rows in ${path}: ${what}`, { path }, { cause });
}
