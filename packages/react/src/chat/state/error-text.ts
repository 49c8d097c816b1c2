import { ClientError } from '@millrace/client';
import type { Labels } from '../../labels/labels.ts';

/** Returns true if the server did not answer. A retry can succeed. */
export function isUnreachable(reason: unknown): boolean {
  return reason instanceof ClientError && reason.code === 'unreachable';
}

/** Returns a text about an error for the user, without the ids in the error message. */
export function errorText(reason: unknown, t: Labels): string {
  if (!(reason instanceof ClientError))
    return reason instanceof Error ? reason.message : `${reason}`;
  switch (reason.code) {
    case 'unreachable':
      return t.serverDoesNotAnswer;
    case 'unauthorized':
      return t.tokenRefused;
    case 'not_found':
      return t.sessionIsGone;
    case 'rate_limited':
      return t.serverIsBusy;
    case 'too_large':
      return t.messageTooLong;
    default:
      return reason.message;
  }
}
