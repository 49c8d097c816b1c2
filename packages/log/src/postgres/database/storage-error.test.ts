import { expect, test } from 'vitest';
import { isConnectionLoss, storageError } from './storage-error.ts';
import { targetOf } from './target.ts';

const target = targetOf('a log', 'postgres://me:very-secret@host:5432/db', 'millrace');

test.each([
  ['a place in the pool that did not get free', 'timeout exceeded when trying to connect'],
  ['an answer that did not come', 'Query read timeout'],
  ['a connection that was not made in time', 'timeout expired'],
])('%s is retried', (_, text) => {
  expect(isConnectionLoss(new Error(text))).toBe(true);
});

test('a missing password has its own error message', () => {
  const text = 'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string';
  const { message } = storageError(new Error(text), target);
  expect(message).toContain('it asks for a password; give one in the url, or in PGPASSWORD');
});

test('a pooler that refuses startup parameters gets an error with the remedy', () => {
  const text = 'unsupported startup parameter: lock_timeout';
  const error = Object.assign(new Error(text), { code: '08P01' });
  expect(isConnectionLoss(error)).toBe(false);
  expect(storageError(error, target).message).toContain('ignore_startup_parameters');
});

test.each(['54000', '22021', '22P05'])(
  'data that Postgres cannot store is no failure of the storage: %s',
  (code) => {
    const text =
      'index row size 3088 exceeds btree version 4 maximum 2704 for index "sessions_pkey"';
    const error = storageError(Object.assign(new Error(text), { code }), target);
    expect(error).toMatchObject({ code: 'bad_records', place: { sqlstate: code } });
    // Clients receive the message, so it does not name the server and its tables.
    expect(error.message).not.toMatch(/host|sessions_pkey/);
  },
);

test('21.H: a full disk has its own code, and says that nothing was stored', () => {
  const text = 'could not extend file "base/5/16384": No space left on device';
  const error = storageError(Object.assign(new Error(text), { code: '53100' }), target);
  expect(error).toMatchObject({ code: 'storage_full', place: { sqlstate: '53100' } });
  expect(error.message).toContain('the disk is full. Nothing of this write was stored; make room');
});
