import assert from 'node:assert/strict';
import { settled } from './test-clock.ts';

/** What a promise gives, for which nothing more has to happen. */
export async function atOnce<T>(coming: Promise<T>): Promise<T> {
  const late = settled().then(() => assert.fail('it still waits'));
  late.catch(() => {});
  return Promise.race([coming, late]);
}
