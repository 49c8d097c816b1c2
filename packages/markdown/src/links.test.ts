import { describe, expect, test } from 'vitest';
import { hidesAddress, safeLink } from './links.ts';

describe('a safe link', () => {
  test.each([
    ['https://example.com/b', 'https://example.com/b'],
    ['HTTP://example.com', 'http://example.com/'],
    ['https://example.com/é', 'https://example.com/%C3%A9'],
    ['https://漢字.example', 'https://xn--p8s937b.example/'],
    ['mailto:a@example.com', 'mailto:a@example.com'],
  ])('%j leads to %j', (address, expected) => {
    expect(safeLink(address)).toBe(expected);
  });

  test.each([
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html;base64,PHNjcmlwdD4=',
    'vbscript:msgbox',
    'file:///etc/passwd',
    '/relative',
    '//example.com',
    'mailto:a b@example.com',
    '',
  ])('%j is refused', (address) => {
    expect(safeLink(address)).toBeUndefined();
  });

  test('has a limit', () => {
    const address = `https://example.com/${'a'.repeat(3_000)}`;
    expect(safeLink(address)).toBe(address);
    expect(safeLink(address, 2048)).toBeUndefined();
    expect(safeLink(`${address}${'a'.repeat(3_000)}`)).toBeUndefined();
  });
});

describe('the text of a link', () => {
  test.each([
    ...['https://bank.example', 'bank.example/login', ' www.bank.example', 'mailto:a@bank.example'],
    ...[
      '\u200bhttps://bank.example',
      'b\u00adank.example',
      'Sign in at https://bank.example/login',
    ],
    ...['(www.bank.example)', '\uff48ttps://bank.example', 'bank\u3002example'],
  ])('18.83: attack: %j hides another address', (text) => {
    expect(hidesAddress(text, 'https://evil.example')).toBe(true);
  });

  test.each(['the bank', 'see chapter 2.', 'evil.example', 'https://evil.example/', 'a: b'])(
    '18.83: %j hides no address',
    (text) => {
      expect(hidesAddress(text, 'https://evil.example')).toBe(false);
    },
  );
});
