import { expect, test } from 'vitest';
import { errorText, problemText } from './outcome-text.ts';

test('errorText reduces an HTML page to one line, and cuts a long text', () => {
  const page =
    '<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title><style>p { color: red }</style></head>\n<body><h1>Bad   Gateway</h1>\n</body></html>';
  expect(errorText(`The provider said: ${page}`)).toBe(
    'The provider said: 502 Bad Gateway Bad Gateway',
  );
  expect(errorText('a < b\nand more')).toBe('a < b\nand more');
  expect(errorText('x'.repeat(5000)).length).toBeLessThan(700);
});

test('23.12: a connection that is lost in the middle of an answer reads differently from one that failed', () => {
  expect(problemText('network', true)).toBe('the answer broke off: the connection was lost');
  expect(problemText('network', false)).toBe('the connection to the provider failed');
  expect(problemText('truncated_stream', true)).toBe('the answer was cut off');
});
