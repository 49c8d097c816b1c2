import { crc32 } from 'node:zlib';
import type { ErrorPlace } from '@millrace/core';
import { LogError } from '../contract/log-error.ts';

/**
 * SQLite notices a page whose structure is damaged, but not a changed letter in it. So each row has a
 * sum of what it says, which is checked before any of it is believed.
 */
export function rowSum(fields: readonly unknown[]): number {
  return crc32(JSON.stringify(fields)) | 0;
}

/** The same for a row with a long text, which need not be written out again. */
export function textSum(text: string, fields: readonly unknown[]): number {
  return crc32(text, crc32(JSON.stringify(fields))) | 0;
}

export function corruptRow(what: string, place: ErrorPlace): LogError {
  const where = Object.entries(place).map(([name, value]) => `${name} ${value}`);
  const message = `Cannot read ${what} (${where.join(', ')}): it was changed. The file is damaged; restore a backup`;
  return new LogError('corrupt', message, place);
}
