import type { SessionId } from '@millrace/core';

/** What work needs to know and was not fetched. */
export type Want =
  | { readonly what: 'session'; readonly session: SessionId }
  | { readonly what: 'producer'; readonly session: SessionId; readonly name: string }
  | { readonly what: 'command'; readonly session: SessionId; readonly name: string }
  /** All records after an offset, and those that are stored in one row with them. */
  | { readonly what: 'records'; readonly session: SessionId; readonly after: number }
  | { readonly what: 'blobs'; readonly session: SessionId }
  | { readonly what: 'epoch' }
  | { readonly what: 'made' };

/** Thrown through work that has to be done again once the want is there. No error that anybody is told. */
export class Missing extends Error {
  readonly want: Want;

  constructor(want: Want) {
    super(`the ${want.what} was not fetched`);
    this.want = want;
  }
}
