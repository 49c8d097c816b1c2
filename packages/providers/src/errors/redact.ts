import { formsOfSecret } from './redactor.ts';
import { minSecretLength } from './secret-words.ts';
import { isError } from './wire-fault.ts';

/**
 * A secret with at least this length is removed where it is a separate word. A shorter value is a placeholder
 * and is not removed.
 */
const minStandaloneLength = 4;

/** Removes API keys from a text. Providers often quote the key that they reject. */
export function redact(text: string, secrets: readonly string[] = []): string {
  // A long form can contain a shorter secret, so it is replaced first.
  const forms = secrets.flatMap(formsOfSecret).sort((one, other) => other.length - one.length);
  const known = forms.reduce(replaceSecret, text);
  return keyPatterns.reduce((rest, pattern) => rest.replace(pattern, replaceMatch), known);
}

/**
 * Removes API keys from the start of a text, which has at most `maxLength` characters. The cut can leave a part of a
 * key, which no search finds, so the result of a longer text has none of its last characters.
 */
export function redactStart(text: string, secrets: readonly string[], maxLength: number): string {
  if (text.length <= maxLength) return redact(text, secrets);
  const lengths = secrets.flatMap(formsOfSecret).map(({ length }) => length);
  const clean = redact(text.slice(0, maxLength), secrets);
  // A part of a secret is not replaced, so it is still at the end. A key of a known form is one word.
  let end = Math.max(0, clean.length - Math.max(1, ...lengths));
  while (end > 0 && /[^\s\]]/.test(clean.charAt(end - 1))) end--;
  return clean.slice(0, end);
}

function replaceSecret(text: string, form: string): string {
  if (form.length >= minSecretLength) return text.replaceAll(form, '[redacted]');
  if (form.length < minStandaloneLength) return text;
  const escaped = form.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
  return text.replace(new RegExp(`(?<![A-Za-z0-9])${escaped}(?![A-Za-z0-9])`, 'g'), '[redacted]');
}

/**
 * Replaces the secret in a match. If the pattern has a group, the group is the secret, and it is at the end
 * of the match.
 */
function replaceMatch(match: string, group: unknown): string {
  const isPart = typeof group === 'string';
  return `${isPart ? match.slice(0, -group.length) : ''}[redacted]`;
}

const maxDepth = 8;

/**
 * Copies an error of a different library, for use as a cause. The original error can contain the whole
 * request. The copy has only the name, message, stack and code, without keys.
 */
export function redactError(thrown: unknown, secrets: readonly string[]): unknown {
  try {
    return redactedCopy(thrown, secrets, 0);
  } catch {
    // Reading a field of the error threw, so no copy is possible.
    return undefined;
  }
}

function redactedCopy(thrown: unknown, secrets: readonly string[], depth: number): unknown {
  if (typeof thrown === 'string') return redact(thrown, secrets);
  if (!isError(thrown)) return undefined;
  const { name, message, stack, cause, code } = thrown as Error & { readonly code?: unknown };
  const inner = depth < maxDepth ? redactedCopy(cause, secrets, depth + 1) : undefined;
  const clean = (text: unknown) => redact(typeof text === 'string' ? text : '', secrets);
  const copy = new Error(clean(message), inner === undefined ? {} : { cause: inner });
  copy.name = clean(name);
  copy.stack = clean(stack);
  return typeof code === 'string' ? Object.assign(copy, { code: clean(code) }) : copy;
}

// The character before a key is not a letter or digit. The exception is the end of an escape sequence, such
// as in `\nsk-…`.
const keyBoundary = String.raw`(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4})|(?<=%[0-9A-Fa-f]{2}))`;

/**
 * Creates the pattern of a key. The pattern matches the prefix before it checks the boundary, because
 * checking the boundary at every character would be slow.
 */
const keyPattern = (prefix: string, rest: string): RegExp =>
  new RegExp(`${prefix}(?<=${keyBoundary}${prefix})${rest}`, 'g');

/**
 * Patterns of API keys and tokens of all known vendors. A false match is better than a missed key. If a
 * pattern has a group, the group is the secret, and it is at the end of the match.
 */
export const keyPatterns: readonly RegExp[] = [
  keyPattern(
    '(?:sk|pk|rk|gsk|csk|xai|pplx|nvapi|hf|r8|gh[opsu]|github_pat)[-_]',
    '[A-Za-z0-9_-]{8,}',
  ),
  keyPattern('AIza', '[A-Za-z0-9_-]{16,}'),
  // In small letters, as in the name of a host, only the digits tell a key from words.
  keyPattern('aiza', '(?=[a-z_-]{0,32}[0-9])[a-z0-9_-]{16,}'),
  keyPattern('a[ks]ia', '(?=[a-z]{0,15}[0-9])[a-z0-9]{16}(?![a-z0-9])'),
  keyPattern(String.raw`ya29\.`, '[A-Za-z0-9_-]{16,}'),
  keyPattern('A[KS]IA', '[A-Z0-9]{16}'),
  // Matches a JSON web token. It has three parts, and the decoded first part starts with `{"`. Only the first possible
  // start in the first part is tried, because all others would read the same text again.
  keyPattern(
    'eyJ',
    String.raw`(?<!${keyBoundary}eyJ[A-Za-z0-9_-]*?eyJ)[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{8,}){2}`,
  ),
  keyPattern(
    'eyj',
    String.raw`(?<!${keyBoundary}eyj[a-z0-9_-]*?eyj)(?=[a-z_-]{0,64}[0-9])[a-z0-9_-]{8,}(?:\.[a-z0-9_-]{8,}){2}`,
  ),
  /bearer(?:\s|\+|%20){1,8}((?:[A-Za-z0-9._~+-]|\\{0,16}\/|%2[BbFf]){8,}(?:=|%3[Dd])*)/gi,
];
