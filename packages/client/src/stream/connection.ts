import type { ClientError } from '../client-error.ts';

/** How things stand between a task's handle and the server. */
export type Connection =
  /** Nothing came yet; `failures` tells how often it was tried in vain. */
  | { readonly state: 'connecting'; readonly failures: number }
  | { readonly state: 'live' }
  /** It is tried again by itself, at that time (ms since 1970) or as soon as the network is back. */
  | {
      readonly state: 'retrying';
      readonly failures: number;
      readonly nextTryAt: number;
      readonly error: ClientError;
    }
  /** Nothing more will come, as the server or whoever closed it says. What is said to the task revives it. */
  | { readonly state: 'ended'; readonly reason: string }
  /** Trying again would not help; `reconnect()` does it all the same. */
  | { readonly state: 'failed'; readonly error: ClientError };
