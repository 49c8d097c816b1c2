import { isMillraceError } from '@millrace/core';
import { RowsError, type RowsErrorCode } from '../../contract/rows.ts';

const codes: readonly RowsErrorCode[] = ['conflict', 'bad_row', 'closed', 'corrupt', 'too_new'];

/** Does it, and says in the words of rows what Postgres' refusal means. */
export async function withMeaning<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw meaningOf(error);
  }
}

function meaningOf(cause: unknown): unknown {
  if (!isMillraceError(cause) || cause instanceof RowsError) return cause;
  const code = codes.find((one) => one === cause.code) ?? 'storage';
  return new RowsError(code, cause.message, cause.place, { cause });
}
