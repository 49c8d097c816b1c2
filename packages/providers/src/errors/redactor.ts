import type { Delta, Part } from '@millrace/core';
import type { ResponseEnd } from '../contract/provider.ts';
import { minSecretLength, secretNames } from './secret-words.ts';

/** The place of a secret in a text, and in an id or a name. Many APIs refuse ids with brackets. */
const mark = '[redacted]';
const idMark = 'redacted';

/** Returns whether a secret was removed from a value. The other side does not know such an id. */
export function isRedacted(text: string): boolean {
  return text.includes(mark);
}

/**
 * Removes the secrets of a connection from everything that the other side sends and that is not the text of an
 * answer: ids, names, values, metadata and details. Each client of a provider or of a remote agent uses it once,
 * for its whole output, because a server that repeats a header does so in any field.
 *
 * @example
 * const redactor = new Redactor(secretsOf(http));
 * yield { deltas: redactor.deltas(writer.take()), end: redactor.end(end) };
 */
export class Redactor {
  /** The secrets, for `redactKeys`, which cleans the texts of errors. */
  readonly secrets: readonly string[];
  /** All forms of all secrets. A long form comes first, because it can contain a shorter one. */
  readonly #forms: readonly string[];
  /** The forms that contain no other form. A text with any form has one of these. */
  readonly #signs: readonly string[];

  constructor(secrets: readonly string[]) {
    this.secrets = secrets;
    const forms = secrets.flatMap(formsOfSecret).filter(({ length }) => length >= minSecretLength);
    this.#forms = [...new Set(forms)].sort((one, other) => other.length - one.length);
    this.#signs = this.#forms.filter(
      (form) => !this.#forms.some((other) => other !== form && form.includes(other)),
    );
  }

  /** Returns an id or a name without secrets. The same text always has the same result. */
  id<Id extends string>(id: Id): Id {
    return this.#clean(id, idMark) as Id;
  }

  /** Returns a value without secrets in its texts and in the names of its fields. */
  json<Value>(value: Value): Value {
    return this.#contains(value) ? (this.#cleanJson(value, mark) as Value) : value;
  }

  /** Returns a value that consists of ids. An id in it has the same result as with `id`. */
  ids<Value>(value: Value): Value {
    return this.#contains(value) ? (this.#cleanJson(value, idMark) as Value) : value;
  }

  /** Returns deltas without secrets. Texts, arguments and bytes are the answer itself and do not change. */
  deltas(deltas: readonly Delta[]): readonly Delta[] {
    if (this.#signs.length === 0) return deltas;
    let changed: Delta[] | undefined;
    for (let index = 0; index < deltas.length; index++) {
      const delta = deltas[index];
      if (delta === undefined || delta.type === 'append_text' || delta.type === 'append_bytes')
        continue;
      const clean = this.#fields(delta);
      if (clean === delta) continue;
      changed ??= [...deltas];
      changed[index] = clean;
    }
    return changed ?? deltas;
  }

  /** Returns a whole part without secrets. The text of the part is the answer itself and does not change. */
  part<Whole extends Part>(part: Whole): Whole {
    return this.#signs.length === 0 ? part : this.#fields(part);
  }

  /** Returns the end of a response without secrets. Its error must already be clean. */
  end({ error, ...end }: ResponseEnd): ResponseEnd {
    return { ...this.json(end), ...(error !== undefined && { error }) };
  }

  #fields<Fields extends object>(fields: Fields): Fields {
    const changed = new Map<string, unknown>();
    for (const name of Object.keys(fields)) {
      const value: unknown = Reflect.get(fields, name);
      const clean = this.#field(name, value);
      if (clean !== value) changed.set(name, clean);
    }
    if (changed.size === 0) return fields;
    const kept = Object.entries(fields).map(([name, value]) => [
      name,
      changed.has(name) ? changed.get(name) : value,
    ]);
    return Object.fromEntries(kept.filter(([, value]) => value !== undefined)) as Fields;
  }

  #field(name: string, value: unknown): unknown {
    switch (name) {
      case 'type':
      case 'kind':
      case 'partId':
      case 'itemId':
      case 'text':
      case 'arguments':
      case 'input':
        return value;
      case 'toolCallId':
      case 'name':
      case 'mimeType':
        return this.ids(value);
      // The provider refuses a changed signature or state, but accepts requests without it.
      case 'signature':
      case 'providerState':
        return this.#contains(value) ? undefined : value;
      case 'part':
        return typeof value === 'object' && value !== null ? this.#fields(value) : value;
      default:
        return this.json(value);
    }
  }

  #contains(value: unknown): boolean {
    if (typeof value === 'string') return this.#signs.some((sign) => value.includes(sign));
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false;
    if (Array.isArray(value)) return value.some((one) => this.#contains(one));
    for (const name of Object.keys(value))
      if (this.#contains(name) || this.#contains(Reflect.get(value, name))) return true;
    return false;
  }

  #cleanJson(value: unknown, by: string): unknown {
    if (typeof value === 'string') return this.#clean(value, by);
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
    if (Array.isArray(value)) return value.map((one) => this.#cleanJson(one, by));
    const entries = Object.entries(value);
    return Object.fromEntries(
      entries.map(([name, one]) => [this.#clean(name, by), this.#cleanJson(one, by)]),
    );
  }

  #clean(text: string, by: string): string {
    return this.#forms.reduce((rest, form) => rest.replaceAll(form, by), text);
  }
}

/**
 * Returns the forms in which a secret can appear: unchanged, trimmed for a header, encoded for a URL, escaped for
 * JSON, and in lower case, as in the host of a URL.
 */
export function formsOfSecret(given: unknown): readonly string[] {
  // The function accepts any value, because building an error must not fail.
  const secret = typeof given === 'string' || typeof given === 'number' ? String(given) : '';
  const sent = secret.trim();
  const url = encodeURIComponent(sent.toWellFormed());
  const lowerUrl = url.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
  const json = JSON.stringify(sent).slice(1, -1);
  const ascii = json.replace(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  const slashes = [json, ascii].map((text) => text.replaceAll('/', '\\/'));
  const urls = [url, lowerUrl, url.replaceAll('%20', '+'), sent.toLowerCase()];
  const forms = [secret, sent, ...urls, json, ascii, ...slashes];
  return [...new Set(forms)];
}

/** The parts of a connection that can contain secrets. */
interface ConnectionParts {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Further values that must never be shown. Default: none. */
  readonly secrets?: readonly string[] | undefined;
}

/** Values of these parts of a query are shown in errors, because they explain the error. */
const publicQuery = /^(?:api-?version|version|alt|beta|model|stream|region|location|project)$/i;

/**
 * Returns the values that must never be shown: the API key, the headers whose names are those of secrets, and
 * secrets in the URL.
 */
export function secretsOf({ secrets = [], headers, url }: ConnectionParts): readonly string[] {
  const sent = Object.entries(headers).flatMap(([name, value]) =>
    secretNames.test(name) ? secretsInHeader(value) : [],
  );
  const found = [...sent, ...secretsInUrl(url)].filter(({ length }) => length >= minSecretLength);
  return [...secrets, ...found];
}

/**
 * Returns the values that must never be shown for a remote agent: all headers, because the caller chooses their
 * names, and the parts of the path that look like a secret. A part of the path counts only if it has a digit or is
 * long, because most parts are names.
 */
export function agentSecretsOf({ headers, url }: ConnectionParts): readonly string[] {
  const path = (URL.parse(url)?.pathname ?? '').split('/');
  const longPath = path.filter((part) => /\d/.test(part) || part.length >= 20);
  const address = [...secretsInUrl(url), ...longPath.flatMap((part) => [part, decoded(part)])];
  return [
    ...Object.values(headers).flatMap(secretsInHeader),
    ...address.filter(({ length }) => length >= minSecretLength),
  ];
}

/**
 * Returns the secrets in the value of a header: the value, and its parts without the scheme. `Basic` contains an
 * encoded password, and a cookie has a name before its value.
 */
function secretsInHeader(value: string): readonly string[] {
  const [, basic] = /^basic\s+(\S+)$/i.exec(value) ?? [];
  const pair = basic === undefined ? '' : decodedBasic(basic);
  const cookies = value.split(';').map((one) => one.slice(one.indexOf('=') + 1).trim());
  const password = pair.slice(pair.indexOf(':') + 1);
  return [value, ...value.split(/\s+/).slice(1), ...cookies, pair, password];
}

function decodedBasic(text: string): string {
  try {
    return atob(text);
  } catch {
    return '';
  }
}

function secretsInUrl(url: string): readonly string[] {
  const parsed = URL.parse(url);
  if (parsed === null) return [];
  const { username, password, search } = parsed;
  const pairs = search.slice(1).split('&');
  const values = pairs.flatMap((pair) => {
    const [name = '', ...rest] = pair.split('=');
    return publicQuery.test(decoded(name)) ? [] : [rest.join('=')];
  });
  return [username, password, ...values].flatMap((value) => [value, decoded(value)]);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}
