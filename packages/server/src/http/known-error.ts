import { isMillraceError } from '@millrace/core';
import { ServerError, type ServerErrorCode } from '../contract/server-error.ts';

/** Refusals of what is below, by the class that throws them, as what they mean to a caller. */
const meanings: Readonly<Record<string, Readonly<Record<string, ServerErrorCode>>>> = {
  RowsError: { conflict: 'conflict', bad_row: 'invalid', closed: 'unavailable' },
  LogError: {
    held: 'conflict',
    fenced: 'conflict',
    no_session: 'not_found',
    session_closed: 'bad_state',
    bad_offset: 'gone',
    bad_records: 'invalid',
    closed: 'unavailable',
  },
  AgentError: { no_such_call: 'bad_state', run_over: 'bad_state' },
  ProtocolError: { too_large: 'too_large' },
};

/** As a refusal that can be told; undefined where it is none, and nobody outside should know more. */
export function knownError(error: unknown): ServerError | undefined {
  if (error instanceof ServerError) return error;
  if (!isMillraceError(error)) return undefined;
  const code = meanings[error.name]?.[error.code];
  return code && new ServerError(code, error.message, error.place, { cause: error });
}
