import { afterEach, describe, expect, test, vi } from 'vitest';
import { WireFault } from '../errors/wire-fault.ts';
import { checkSecret, findApiKey, requireApiKey, streamHeaders } from './api-options.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});

const variables = ['MILLRACE_TEST_KEY', 'MILLRACE_TEST_OTHER_KEY'];

describe('the key', () => {
  test('is the given one', () => {
    vi.stubEnv('MILLRACE_TEST_KEY', 'from-env');
    expect(findApiKey('given', variables)).toBe('given');
  });

  test.each([undefined, ''])('is else the first of the environment: %j', (given) => {
    vi.stubEnv('MILLRACE_TEST_OTHER_KEY', 'second');
    expect(findApiKey(given, variables)).toBe('second');
    vi.stubEnv('MILLRACE_TEST_KEY', '');
    expect(findApiKey(given, variables)).toBe('second');
    vi.stubEnv('MILLRACE_TEST_KEY', 'first');
    expect(findApiKey(given, variables)).toBe('first');
  });

  test('can be missing, which is reported with advice', () => {
    expect(findApiKey(undefined, variables)).toBeUndefined();
    const need = () => requireApiKey('', variables);
    expect(need).toThrow(WireFault);
    expect(need).toThrow('pass apiKey or set MILLRACE_TEST_KEY or MILLRACE_TEST_OTHER_KEY');
  });

  test('is also looked up without an environment, as in a browser', () => {
    for (const process of [undefined, {}, { env: undefined }]) {
      vi.stubGlobal('process', process);
      expect(findApiKey(undefined, variables)).toBeUndefined();
      vi.unstubAllGlobals();
    }
  });
});

test('streams are requested without compression', () => {
  expect(streamHeaders).toMatchObject({
    accept: 'text/event-stream',
    'accept-encoding': 'identity',
  });
});

test.each<[string, unknown]>([
  ['a number', 12345],
  ['a promise', Promise.resolve('key')],
  ['an object', { key: 'sk' }],
])('a key that is %s is reported, but not quoted', (_, key) => {
  const read = () => checkSecret('apiKey', key);
  expect(read).toThrow(WireFault);
  expect(read).toThrow(/^apiKey is an? \w+; it must be a string$/);
});
