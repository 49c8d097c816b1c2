import { expect, test, vi } from 'vitest';
import { DecodeError } from './codec/decoder.ts';
import { isMillraceError, MillraceError } from './errors.ts';
import { ProtocolError } from './protocol/protocol-error.ts';

test('an error has a code for programs, a message for people, and what locates it', () => {
  const cause = new Error('cause');
  const error = new MillraceError('no_such_thing', 'Cannot find it', { offset: 7 }, { cause });
  expect(error).toBeInstanceOf(Error);
  expect(error).toMatchObject({ code: 'no_such_thing', place: { offset: 7 }, cause });
  expect(error.message).toBe('Cannot find it');
  expect(new MillraceError('a', 'b').place).toEqual({});
});

test('an error is called after its own class', () => {
  expect(String(new DecodeError('not_json', 'why'))).toBe('DecodeError: why');
  expect(new ProtocolError('gap', 'take append_text', {}).name).toBe('ProtocolError');
});

test('a refusal names what it speaks of, leaves out what is not known, and says the way out', () => {
  const place = { partId: '1.1.a', itemId: undefined, turn: 1 };
  const { message } = new ProtocolError('unknown_part', 'take append_text', place);
  expect(message).toBe(
    'Cannot take append_text (partId 1.1.a, turn 1): no such part was begun; begin it, or commit it whole',
  );
});

test('an error of ours is known, also one of another copy of this package', () => {
  expect(isMillraceError(new DecodeError('not_json', 'why'))).toBe(true);
  expect(isMillraceError(Object.assign(new Error('why'), { isMillraceError: true }))).toBe(true);
});

test('an error of others is not', () => {
  for (const other of [new Error('why'), {}, null, undefined, 'isMillraceError', 7]) {
    expect(isMillraceError(other)).toBe(false);
  }
});

test('22.2: instanceof accepts an error of another copy of this package, by its classes', async () => {
  vi.resetModules();
  const copy = await import('./errors.ts');
  class LogError extends MillraceError {}
  const copied = {
    LogError: class LogError extends copy.MillraceError {},
    FileError: class FileError extends copy.MillraceError {},
  };
  class LostError extends copied.LogError {}
  expect(copy.MillraceError).not.toBe(MillraceError);
  expect(new copied.LogError('held', 'why')).toBeInstanceOf(LogError);
  expect(new LostError('held', 'why')).toBeInstanceOf(LogError);
  expect(new LostError('held', 'why')).toBeInstanceOf(MillraceError);
  expect(new copied.FileError('held', 'why')).toBeInstanceOf(MillraceError);
  expect(new copied.FileError('held', 'why')).not.toBeInstanceOf(LogError);
  expect(new MillraceError('held', 'why')).not.toBeInstanceOf(LogError);
  const other = [new Error('why'), Object.create(null), null, undefined, 'LogError'];
  for (const value of other) expect(value).not.toBeInstanceOf(MillraceError);
});
