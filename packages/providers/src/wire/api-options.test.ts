import { afterEach, describe, expect, test, vi } from 'vitest';
import { findApiKey, needApiKey, streamHeaders, withoutTrailingSlash } from './api-options.ts';
import { WireFault } from './wire-fault.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});

const variables = ['MILLRACE_TEST_KEY', 'MILLRACE_TEST_OTHER_KEY'];

describe('the key', () => {
  test('is the one that is given', () => {
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

  test('may be missing, which is told with the way out', () => {
    expect(findApiKey(undefined, variables)).toBeUndefined();
    const need = () => needApiKey('', variables);
    expect(need).toThrow(WireFault);
    expect(need).toThrow('pass apiKey or set MILLRACE_TEST_KEY or MILLRACE_TEST_OTHER_KEY');
  });

  test('is looked for also where there is no environment, as in a browser', () => {
    for (const process of [undefined, {}, { env: undefined }]) {
      vi.stubGlobal('process', process);
      expect(findApiKey(undefined, variables)).toBeUndefined();
      vi.unstubAllGlobals();
    }
  });
});

test('streams are asked for as they are, and uncompressed', () => {
  expect(streamHeaders).toMatchObject({
    accept: 'text/event-stream',
    'accept-encoding': 'identity',
  });
});

test('an address loses the slashes at its end', () => {
  expect(withoutTrailingSlash('http://a/v1//')).toBe('http://a/v1');
  expect(withoutTrailingSlash('http://a/v1')).toBe('http://a/v1');
});
