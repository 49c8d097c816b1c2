/** What is shorter is a word rather than a secret, and would be missed in every message. */
export const minSecretLength = 8;

/** A key shorter than that is redacted only where it stands alone; one still shorter is a placeholder. */
const minStandaloneLength = 4;

/** The text without keys: providers like to quote the key that they refuse. */
export function redact(text: string, secrets: readonly string[] = []): string {
  const known = secrets.flatMap(formsOfSecret).reduce(replaceSecret, text);
  return keyPatterns.reduce((rest, pattern) => rest.replace(pattern, replaceMatch), known);
}

function replaceSecret(text: string, form: string): string {
  if (form.length >= minSecretLength) return text.replaceAll(form, '[redacted]');
  if (form.length < minStandaloneLength) return text;
  const escaped = form.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
  return text.replace(new RegExp(`(?<![A-Za-z0-9])${escaped}(?![A-Za-z0-9])`, 'g'), '[redacted]');
}

/** Where a pattern has a group, the secret is that group, which stands at the end. */
function replaceMatch(match: string, group: unknown): string {
  const isPart = typeof group === 'string';
  return `${isPart ? match.slice(0, -group.length) : ''}[redacted]`;
}

/** As it is, as headers trim it, as an address has it, as JSON has it. */
function formsOfSecret(given: unknown): readonly string[] {
  // Whatever it is: an error must not fail in its turn.
  const secret = typeof given === 'string' || typeof given === 'number' ? String(given) : '';
  const sent = secret.trim();
  return [secret, sent, encodeURIComponent(sent.toWellFormed()), JSON.stringify(sent).slice(1, -1)];
}

const maxDepth = 8;

/**
 * A copy of what somebody else threw, for the cause of one of our errors: name, message, stack and
 * code without keys, and nothing else, since such errors can hold the whole request.
 */
export function redactError(thrown: unknown, secrets: readonly string[]): unknown {
  try {
    return redactedCopy(thrown, secrets, 0);
  } catch {
    // Its fields throw in their turn. Then there is nothing to tell.
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

// In front of a key there is no letter or digit, unless they are the end of an escape: `\nsk-…`.
const keyBoundary = String.raw`(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=\\u[0-9A-Fa-f]{4})|(?<=%[0-9A-Fa-f]{2}))`;

/** What stands in front is looked at last: asking it of every letter first would take long. */
const keyPattern = (prefix: string, rest: string): RegExp =>
  new RegExp(`${prefix}(?<=${keyBoundary}${prefix})${rest}`, 'g');

/**
 * What API keys and tokens look like, whoever's they are: rather one too many than one too few.
 * Where a pattern has a group, the secret is that group, which stands at the end.
 */
export const keyPatterns: readonly RegExp[] = [
  keyPattern(
    '(?:sk|pk|rk|gsk|csk|xai|pplx|nvapi|hf|r8|gh[opsu]|github_pat)[-_]',
    '[A-Za-z0-9_-]{8,}',
  ),
  keyPattern('AIza', '[A-Za-z0-9_-]{16,}'),
  keyPattern(String.raw`ya29\.`, '[A-Za-z0-9_-]{16,}'),
  keyPattern('A[KS]IA', '[A-Z0-9]{16}'),
  // A JSON web token: three parts, the first of which starts with `{"`.
  keyPattern('eyJ', String.raw`[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{8,}){2}`),
  /bearer(?:\s|\+|%20){1,8}((?:[A-Za-z0-9._~+-]|\\{0,16}\/|%2[BbFf]){8,}(?:=|%3[Dd])*)/gi,
];

/** Also one of another realm or copy, whose class is another: what has a name and a message is one. */
export function isError(value: unknown): value is Error {
  if (value instanceof Error) return true;
  if (typeof value !== 'object' || value === null) return false;
  return (
    'name' in value &&
    typeof value.name === 'string' &&
    'message' in value &&
    typeof value.message === 'string'
  );
}
