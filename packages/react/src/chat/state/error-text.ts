import { ClientError } from '@millrace/client';

/** Returns true if the server did not answer. A retry can succeed. */
export function isUnreachable(reason: unknown): boolean {
  return reason instanceof ClientError && reason.code === 'unreachable';
}

/** Returns a text about an error for the user, without the ids in the error message. */
export function errorText(reason: unknown): string {
  if (!(reason instanceof ClientError))
    return reason instanceof Error ? reason.message : `${reason}`;
  switch (reason.code) {
    case 'unreachable':
      return 'The server does not answer.';
    case 'unauthorized':
      return 'The server does not accept the token.';
    case 'not_found':
      return 'This session no longer exists.';
    case 'rate_limited':
      return 'The server is busy. Try again later.';
    case 'too_large':
      return 'The message is longer than the server allows.';
    default:
      return reason.message;
  }
}
