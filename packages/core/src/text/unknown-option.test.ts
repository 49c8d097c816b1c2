import { describe, expect, test } from 'vitest';
import { assertOptionNames, findUnknownOption } from './unknown-option.ts';

const names = { session: true, signal: true, observers: true } as const;
const find = (options: object) => findUnknownOption(options as typeof names, names);

describe('findUnknownOption', () => {
  test('accepts known options, and unknown ones without a value', () => {
    expect(find({})).toBeUndefined();
    expect(find({ session: 's', sesion: undefined })).toBeUndefined();
  });

  test.each([
    ['sesion', 'Did you mean session?'],
    ['SESSION', 'Did you mean session?'],
    ['observer', 'Did you mean observers?'],
    ['temperature', 'Known options: session, signal, observers'],
    ['toString', 'Known options: session, signal, observers'],
    ['__proto__x', 'Known options: session, signal, observers'],
  ])('names the nearest option to %s, or all of them', (name, hint) => {
    expect(find({ [name]: 1 })).toEqual({ name, hint });
  });
});

describe('assertOptionNames', () => {
  const check = (options: unknown) =>
    assertOptionNames('run', options as typeof names, names, (message) => new TypeError(message));

  test('throws the error of the caller', () => {
    expect(() => check({ session: 's' })).not.toThrow();
    expect(() => check({ sesion: 's' })).toThrow(
      new TypeError(
        'Cannot use the options of run: there is no option sesion. Did you mean session?',
      ),
    );
  });

  test.each([null, 'text', 7])('refuses %j, which is no object', (options) => {
    expect(() => check(options)).toThrow('pass an object with session, signal, observers');
  });
});
