import { ClientError } from '@millrace/client';

/** Nobody answered: it may be heard another time. */
export function isUnreachable(reason: unknown): boolean {
  return reason instanceof ClientError && reason.code === 'unreachable';
}

/** Why something was not done, for whoever wanted it: without the ids that a log has. */
export function failureWords(reason: unknown): string {
  if (!(reason instanceof ClientError))
    return reason instanceof Error ? reason.message : `${reason}`;
  switch (reason.code) {
    case 'unreachable':
      return 'The server does not answer.';
    case 'unauthorized':
      return 'The server does not accept the token.';
    case 'not_found':
      return 'There is no such session any more.';
    case 'rate_limited':
      return 'The server has too much to do just now.';
    case 'too_large':
      return 'It is longer than the server takes.';
    default:
      return reason.message;
  }
}
