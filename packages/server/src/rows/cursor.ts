import { isId } from '@millrace/core';
import { ServerError } from '../contract/server-error.ts';

export interface RowPosition {
  readonly at: number;
  readonly id: string;
}

/** Where a list of rows goes on, as a text that means nothing to whoever carries it. */
export function cursorOf({ at, id }: RowPosition): string {
  return Buffer.from(`${at}:${id}`).toString('base64url');
}

export function positionOf(cursor: string): RowPosition {
  const [, at, id] = /^(\d{1,16}(?:\.\d+)?):(.+)$/s.exec(
    Buffer.from(cursor, 'base64url').toString(),
  ) ?? [undefined, '', ''];
  if (isId(id)) return { at: Number(at), id };
  const message = 'Cannot go on from this cursor: it is none that a list gave. Start without one';
  throw new ServerError('invalid', message);
}
