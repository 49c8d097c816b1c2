import { MillraceError } from '@millrace/core';

/** What was asked for is no session, or could be several. */
export class SessionLookupError extends MillraceError<'no_such_session' | 'ambiguous_session'> {}
