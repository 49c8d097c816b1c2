import { looksSecret } from './safe-env.ts';

/** Removes secrets from an output that arrives in pieces. */
export interface SecretMask {
  /**
   * Returns the bytes that can be shown. It keeps back the end of the text if the end may be the start of a
   * secret.
   */
  add(bytes: Uint8Array): Uint8Array;
  /** Returns the bytes that were kept back. Call it once, after the last `add`. */
  end(): Uint8Array;
}

/** The text that replaces a secret in an output. */
const mark = '[masked]';

/**
 * Creates a mask for the output of one command. It replaces keys with a known form, private keys, passwords
 * in URLs, and the values of environment variables that look like secrets. It works on bytes, so binary
 * output does not change. Its time is linear and its memory is limited. The result does not depend on how the
 * output is split into pieces.
 */
export function secretMask(...envs: readonly Env[]): SecretMask {
  return masksOf(envs)();
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Returns a function that creates masks, as `secretMask` does. Use it for many texts, because it reads the
 * environment only once.
 *
 * @example const mask = secretMasks(process.env)(); const shown = [mask.add(bytes), mask.end()];
 */
export function secretMasks(env: Env): () => SecretMask {
  return masksOf([env]);
}

function masksOf(envs: readonly Env[]): () => SecretMask {
  const secrets = secretValuesOf(envs);
  return () => {
    const values = maskValues(secrets);
    const keys = maskKeys();
    const mask = (text: string, isLast: boolean) =>
      Buffer.from(keys(values(text, isLast), isLast), 'latin1');
    return {
      add: (bytes) => mask(latin1(bytes), false),
      end: () => mask('', true),
    };
  };
}

/** Converts each byte to one character, so that a string can be searched. */
function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

/** One step of the mask. It returns the text that can be shown, and keeps the rest for the next call. */
type Step = (text: string, isLast: boolean) => string;

/**
 * The minimum and maximum length of a masked value. Shorter values are often ordinary words. Longer values
 * are files, which commands print in parts.
 */
const [minValueLength, maxValueLength] = [8, 4096];
const maxValues = 200;

function secretValuesOf(envs: readonly Env[]): readonly string[] {
  const variables = envs.flatMap((env) => Object.entries(env));
  const values = variables.flatMap(([name, value = '']) =>
    looksSecret(name, value) ? formsOf(value.trim()) : [],
  );
  return [...new Set(values)]
    .map((value) => latin1(Buffer.from(value, 'utf8')))
    .filter(({ length }) => length >= minValueLength && length <= maxValueLength)
    .toSorted((a, b) => b.length - a.length)
    .slice(0, maxValues);
}

/** Returns a value as plain text, and as JSON writes it in a string and in a string inside of a string. */
function formsOf(value: string): readonly string[] {
  const inJson = (text: string) => JSON.stringify(text).slice(1, -1);
  return [value, inJson(value), inJson(inJson(value))];
}

/**
 * Returns a step that replaces known values. At each position it replaces the longest value. A value that may
 * continue in the next piece is kept back, even if a shorter value is already complete.
 */
function maskValues(values: readonly string[]): Step {
  if (values.length === 0) return (added) => added;
  // The values are sorted by length, so the longest alternative matches first.
  const anyValue = new RegExp(values.map(escaped).join('|'), 'g');
  let kept = '';
  return (added, isLast) => {
    const text = kept + added;
    const openFrom = (from: number) =>
      isLast ? text.length : Math.min(...values.map((value) => startOf(value, text, from)));
    const shown: string[] = [];
    let at = 0;
    let open = openFrom(at);
    anyValue.lastIndex = 0;
    for (let found = anyValue.exec(text); found !== null; found = anyValue.exec(text)) {
      if (found.index >= open) break;
      shown.push(text.slice(at, found.index), mark);
      at = anyValue.lastIndex;
      if (at > open) open = openFrom(at);
    }
    shown.push(text.slice(at, open));
    kept = text.slice(open);
    return shown.join('');
  };
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/**
 * Finds the beginning of a value at the end of the text, at or after a position. Returns the length of the
 * text if it finds none.
 */
function startOf(value: string, text: string, from: number): number {
  const first = value.charAt(0);
  let at = text.indexOf(first, Math.max(from, text.length - value.length + 1));
  while (at !== -1 && !value.startsWith(text.slice(at))) at = text.indexOf(first, at + 1);
  return at === -1 ? text.length : at;
}

interface KeyForm {
  /** Matches the start of a key of this form. */
  readonly start: RegExp;
  /** Matches the text after the start. It must match without looking ahead. */
  readonly rest: RegExp;
}

const form = (start: string, rest: string): KeyForm => ({
  start: new RegExp(start, 'y'),
  rest: new RegExp(rest, 'y'),
});

const keyForms: readonly KeyForm[] = [
  form('sk[-_]|rk_', '[\\w-]{16,}'),
  form('gh[a-z]_', '[A-Za-z0-9]{20,}'),
  form('github_pat_', '\\w{20,}'),
  form('glpat-|xai-|nvapi-|pypi-|tskey-|sq0[a-z]{3}-', '[\\w-]{16,}'),
  form('xox[a-z]-|xapp-', '[\\w-]{10,}'),
  form('AKIA|ASIA', '[A-Z0-9]{16}'),
  form('AIza', '[\\w-]{30,}'),
  form('ya29\\.', '[\\w-]{20,}'),
  form('SG\\.', '[\\w-]{16,}\\.[\\w-]{16,}'),
  // A token of a Millrace server.
  form('mr_', '[\\w-]{32,}'),
  form('npm_|hf_|gsk_|r8_|lin_api_|whsec_', '[A-Za-z0-9]{20,}'),
  form('dop_v1_', '[a-f0-9]{32,}'),
  form('AGE-SECRET-KEY-', '[A-Z0-9]{40,}'),
];

/** Matches the start of any form in `keyForms`. Its parts are literal, so the search is fast. */
const anyStart =
  /sk[-_]|rk_|gh[a-z]_|github_pat_|glpat-|xai-|nvapi-|pypi-|tskey-|sq0[a-z]{3}-|xox[a-z]-|xapp-|AKIA|ASIA|AIza|ya29\.|SG\.|mr_|npm_|hf_|gsk_|r8_|lin_api_|whsec_|dop_v1_|AGE-SECRET-KEY-|eyJ|:\/\/|-----BEGIN /g;
/**
 * The length of the longest start minus one. The last characters of a text, up to this number, may be an
 * incomplete start.
 */
const maxPartOfStart = 15;
/**
 * Matches the end of a text after which a key can start: any character except a letter or digit, or an escape of
 * JSON, such as the two characters of a line break.
 */
const endOfWord = /(?:^|[^A-Za-z0-9]|\\(?:[bfnrt]|u[0-9A-Fa-f]{4}))$/;
const maxEscapeLength = 6;

/** Returns the last characters before a position. `before` is the end of the text before this text. */
function endBefore(text: string, at: number, before: string): string {
  if (at >= maxEscapeLength) return text.slice(at - maxEscapeLength, at);
  return (before + text.slice(0, at)).slice(-maxEscapeLength);
}

/** Matches the rest of a key of any form. */
const restOfKey = /[\w.-]*/y;
/**
 * A shorter piece of text may still become a key. The number is larger than the minimum length of every form.
 */
const undecidedLength = 64;

const tokenHeader = /[\w-]*/y;
const tokenBody = /\.eyJ[\w-]{8,}/y;
const minTokenHeader = 8;
const urlLogin = /[^\s/:@"'<>]{0,256}:([^\s/@"'<>]{1,256})@/y;
const urlLoginPart = /[^\s/:@"'<>]{0,256}(?::[^\s/@"'<>]{0,256})?$/y;
const keyBegin = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----/y;
const keyBeginPart = /-----BEGIN [A-Z0-9 ]{0,52}-{0,5}$/y;
const keyEnd = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----/g;
const maxKeyEnd = 80;
/** Maximum length of a private key without an end marker. The text is masked up to this length. */
const maxPrivateKey = 65_536;
/** Maximum length of the header of a JSON Web Token. A longer text is not a header. */
const maxKept = 16_384;

/** Returns a step that replaces keys with a known form. */
function maskKeys(): Step {
  let kept = '';
  let state: 'text' | 'rest of a key' | 'private key' = 'text';
  let before = '';
  let masked = 0;
  return (added, isLast) => {
    const text = kept + added;
    const shown: string[] = [];
    let at = 0;
    kept = '';
    while (at < text.length) {
      if (state === 'rest of a key') {
        at = endOfMatch(restOfKey, text, at) ?? at;
        if (at < text.length) state = 'text';
      } else if (state === 'private key') {
        keyEnd.lastIndex = at;
        const isEnded = keyEnd.exec(text) !== null;
        const next = isEnded ? keyEnd.lastIndex : Math.max(at, text.length - maxKeyEnd);
        masked += next - at;
        if (isEnded || masked > maxPrivateKey) state = 'text';
        else {
          // The end marker may be split over two pieces.
          kept = isLast ? '' : text.slice(next);
          break;
        }
        at = next;
      } else {
        const found = findSecret(text, at, before, isLast);
        shown.push(text.slice(at, found.from), found.kind === 'open' ? '' : found.shown);
        at = found.to;
        if (found.kind === 'open') {
          kept = text.slice(found.from);
          before = endBefore(text, found.from, before);
          return shown.join('');
        }
        if (found.kind === 'key') state = 'rest of a key';
        if (found.kind === 'private key') [state, masked] = ['private key', 0];
      }
    }
    before = endBefore(text, text.length, before);
    return shown.join('');
  };
}

interface FoundSecret {
  /** The kind of the secret. `open` means that the rest of the text may still become a secret. */
  readonly kind: 'key' | 'private key' | 'password' | 'open';
  readonly from: number;
  readonly to: number;
  readonly shown: string;
}

/** Returns the first secret, or the position from which the text must be kept back. */
function findSecret(text: string, start: number, before: string, isLast: boolean): FoundSecret {
  let noTokenBefore = 0;
  anyStart.lastIndex = start;
  for (let match = anyStart.exec(text); match !== null; match = anyStart.exec(text)) {
    const from = match.index;
    const [found] = match;
    if (found === '://' || found === '-----BEGIN ') {
      const secret = found === '://' ? findPassword(text, from) : findPrivateKey(text, from);
      if (secret !== undefined && (secret.kind !== 'open' || !isLast)) return secret;
    } else if (endOfWord.test(endBefore(text, from, before))) {
      if (found === 'eyJ') {
        if (from < noTokenBefore) continue;
        noTokenBefore = endOfMatch(tokenHeader, text, from) ?? from;
      }
      const end = endOfKey(text, from, found);
      const isCut = end === undefined && mayContinue(text, from, found);
      if (end !== undefined) return { kind: 'key', from, to: end, shown: `${found}${mark}` };
      if (isCut && !isLast) return open(text, from);
    }
    anyStart.lastIndex = from + 1;
  }
  // No start contains a line break, so complete lines can be shown.
  const undecided = Math.max(text.length - maxPartOfStart, text.lastIndexOf('\n') + 1);
  return open(text, isLast ? text.length : Math.max(start, undecided));
}

function open(text: string, from: number): FoundSecret {
  return { kind: 'open', from, to: text.length, shown: '' };
}

function endOfKey(text: string, from: number, found: string): number | undefined {
  if (found === 'eyJ') {
    const header = endOfMatch(tokenHeader, text, from) ?? from;
    return header - from < minTokenHeader ? undefined : endOfMatch(tokenBody, text, header);
  }
  for (const { start, rest } of keyForms) {
    if (endOfMatch(start, text, from) === from + found.length)
      return endOfMatch(rest, text, from + found.length);
  }
  return undefined;
}

/** True if the text from this position could become a key with more text. */
function mayContinue(text: string, from: number, found: string): boolean {
  // Without this limit, each start would read the rest of the text.
  if (text.length - from >= (found === 'eyJ' ? maxKept : undecidedLength)) return false;
  return endOfMatch(restOfKey, text, from + found.length) === text.length;
}

function findPassword(text: string, from: number): FoundSecret | undefined {
  const start = from + '://'.length;
  urlLogin.lastIndex = start;
  const [whole = '', password = ''] = urlLogin.exec(text) ?? [];
  const to = start + whole.length;
  if (whole !== '') {
    const shown = `${text.slice(from, to - password.length - 1)}${mark}@`;
    return { kind: 'password', from, to, shown };
  }
  return endOfMatch(urlLoginPart, text, start) === text.length ? open(text, from) : undefined;
}

function findPrivateKey(text: string, from: number): FoundSecret | undefined {
  const to = endOfMatch(keyBegin, text, from);
  if (to !== undefined)
    return { kind: 'private key', from, to, shown: `${text.slice(from, to)}${mark}` };
  return endOfMatch(keyBeginPart, text, from) === text.length ? open(text, from) : undefined;
}

/**
 * Matches the pattern at a position. Returns the end of the match. Returns undefined if the pattern does not
 * match.
 */
function endOfMatch(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}
