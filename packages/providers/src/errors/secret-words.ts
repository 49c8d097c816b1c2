import type { HttpRequest } from '../transport/http-request.ts';

/**
 * A secret with at least this length is removed at every position of a text. A shorter secret may be a normal
 * word, and removing it everywhere would make texts unreadable.
 */
export const minSecretLength = 8;

/** The names of headers that contain secrets. */
export const secretNames: RegExp = /auth|key|token|secret|cookie|pass|signature|credential/i;

/**
 * Returns the longest word of letters and digits of each secret of a request. JSON and URLs do not encode such a
 * word, so every text with a secret contains the word of the secret. The word is empty, and so part of every text,
 * if the secret has no word.
 */
export function secretWordsOf({ secrets, headers, url }: HttpRequest): readonly string[] {
  const sent = Object.keys(headers).filter((name) => secretNames.test(name));
  const values = [...secrets, ...sent.map((name) => headers[name]), ...url.split('?').slice(1)];
  const parts = values.flatMap((value) => [`${value}`, ...`${value}`.split(/[\s;=&]+/)]);
  const words = parts.flatMap((part) => {
    if (part.length < minSecretLength) return [];
    // `Basic` contains the password in another encoding.
    const found = /^basic /i.test(part) ? [] : part.split(/%..|[^a-z\d]+/i);
    return found.reduce((longest, word) => (word.length > longest.length ? word : longest), '');
  });
  return [...new Set(words)];
}
