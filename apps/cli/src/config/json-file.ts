import { isMillraceError, type JsonValue, parseJson } from '@millrace/core';
import { z } from 'zod';
import { nearestName } from '../args/nearest-name.ts';
import { ConfigError } from '../contract/errors.ts';
import { readFileSafely } from '../safe-files.ts';

/** A parsed JSON file. It also has the text, which is needed for line numbers in errors. */
export interface JsonFile {
  readonly path: string;
  readonly text: string;
  readonly value: JsonValue;
}

interface Pipes {
  /** True if the file may be a pipe. Set it only for paths that the user typed. Default: false. */
  readonly pipes?: boolean | undefined;
}

const parseLimits = { maxTextLength: 1_000_000, maxDepth: 64 };

/** Reads and parses a file. Returns undefined if the file does not exist. */
export async function readJsonFile(
  path: string,
  options: Pipes = {},
): Promise<JsonFile | undefined> {
  const text = await readIfPresent(path, options);
  if (text === undefined) return undefined;
  const parsed = parseJson(text, parseLimits);
  if (parsed.ok) return { path, text, value: parsed.value };
  const { message, position } = parsed.failure;
  const where = `${path}:${lineAndColumn(text, position)}`;
  const what = message.replace(/^Cannot parse JSON at \d+: /, '');
  throw new ConfigError(`Cannot read ${where}: ${what}. ${syntaxHint(text, position)}`, {
    path,
    position,
  });
}

/**
 * Returns advice about a syntax error. It recognizes common mistakes: comments and trailing commas.
 */
function syntaxHint(text: string, position: number): string {
  const [before, after] = [text.slice(0, position), text.slice(position)];
  if (/^\s*\/[/*]/.test(after)) return 'JSON has no comments. Remove it';
  if (/,\s*$/.test(before) && /^\s*[}\]]/.test(after)) return 'Remove the comma before it';
  return 'Fix it there';
}

async function readIfPresent(path: string, options: Pipes): Promise<string | undefined> {
  try {
    return await readText(path, options);
  } catch (error) {
    const { code = 'nothing' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw cannotRead(path, code, error);
  }
}

function cannotRead(path: string, errno: string, cause: unknown): ConfigError {
  const why = isMillraceError(cause) ? cause.message : reasonByErrno[errno];
  const message = `Cannot read ${path}: ${why ?? `the system reports ${errno}`}`;
  return new ConfigError(message, { path, errno }, { cause });
}

const reasonByErrno: Readonly<Record<string, string>> = {
  EACCES: 'permission denied. Change its permissions, or choose another file with --config',
  EISDIR: 'it is a folder. Choose a file',
};

/** Maximum size of a settings file. */
const maxFileBytes = 8 * 2 ** 20;

/**
 * Reads a text file and removes a byte order mark. Throws a `FileError` if the file is too large or
 * not a regular file. If `pipes` is true, it also reads pipes, such as `<(…)` of a shell.
 */
export async function readText(path: string, { pipes }: Pipes = {}): Promise<string> {
  const { bytes } = await readFileSafely(path, { maxBytes: maxFileBytes, pipes });
  return new TextDecoder().decode(bytes);
}

/**
 * Validates a file against a schema and returns its value. Throws a `ConfigError` for the first
 * problem.
 */
export function checkJsonFile<Value>(file: JsonFile, schema: z.ZodType<Value>): Value {
  const { data, error } = schema.safeParse(file.value);
  const [issue] = error?.issues ?? [];
  if (issue === undefined) return data as Value;
  if (issue.code !== 'unrecognized_keys') throw errorAt(file, issue.path, issueText(issue));
  const [key = ''] = issue.keys;
  throw errorAt(file, [...issue.path, key], unknownNameText(key, knownNames(schema, issue.path)));
}

/**
 * Creates an error with the position in the file. The error never contains the value, because the
 * value may be a key.
 */
export function errorAt(
  { path: file, text }: JsonFile,
  path: Path,
  why: string,
  cause?: unknown,
): ConfigError {
  const at = lineAndColumn(text, positionOf(text, path));
  const what = path.length === 0 ? '' : `${pathText(path)} `;
  const place = { path: file, at: pathText(path) };
  return new ConfigError(
    `${file}:${at}: ${what}${why}`,
    place,
    cause === undefined ? {} : { cause },
  );
}

function unknownNameText(name: string, known: readonly string[]): string {
  const near = nearestName(name, known);
  const hint =
    near === undefined ? `Known names: ${known.join(', ')}` : `Did you mean ${quoteName(near)}?`;
  return `is unknown. ${hint}`;
}

function issueText(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${expectedText(issue.expected)}`;
    case 'invalid_value':
      return `must be one of ${issue.values.map((value) => String(value)).join(', ')}`;
    case 'too_small':
      return issue.origin === 'string' ? 'is empty' : `must be at least ${issue.minimum}`;
    case 'too_big':
      return `must be at most ${issue.maximum}`;
    case 'invalid_key':
      return 'has an empty name';
    default:
      return `cannot be used: ${issue.message}`;
  }
}

function expectedText(expected: string): string {
  const names: Readonly<Record<string, string>> = {
    string: 'a string',
    array: 'a list',
    object: 'an object',
    record: 'an object',
    int: 'a whole number',
    boolean: 'true or false',
  };
  return names[expected] ?? `a ${expected}`;
}

interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: SchemaNode;
}

/** Returns the property names that the schema allows at a path. */
function knownNames(schema: z.ZodType, path: Path): readonly string[] {
  const root = z.toJSONSchema(schema) as SchemaNode;
  const step = (node: SchemaNode | undefined, name: PropertyKey) =>
    node?.properties?.[String(name)] ?? node?.additionalProperties;
  const node = path.reduce<SchemaNode | undefined>(step, root);
  return Object.keys(node?.properties ?? {});
}

/** The property names and array indexes that lead to a value. */
type Path = readonly PropertyKey[];

/** Formats a path: `models.fast.baseUrl`, `permissions.allow[2]`. */
function pathText(path: Path): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${quoteName(String(step))}`))
    .join('')
    .replace(/^\./, '');
}

/** Formats a property name for a message. */
function quoteName(name: string): string {
  const shown = name.length > 60 ? `${name.slice(0, 60)}…` : name;
  return /^[\w$-]+$/.test(name) ? shown : JSON.stringify(shown);
}

/** Returns the line and the column of a position. Both start at 1, as in editors. */
function lineAndColumn(text: string, position: number): string {
  const lines = text.slice(0, position).split('\n');
  return `${lines.length}:${(lines.at(-1)?.length ?? 0) + 1}`;
}

/**
 * Returns the position of a value in valid JSON text. It is the position of its property name or of
 * the array entry.
 */
function positionOf(text: string, path: Path): number {
  const found = positionsByPath(text);
  for (let length = path.length; length > 0; length--) {
    const position = found.get(JSON.stringify(path.slice(0, length)));
    if (position !== undefined) return position;
  }
  return 0;
}

/**
 * Returns the position of each path. If a property name occurs twice, the last position counts, as
 * in `JSON.parse`.
 */
function positionsByPath(text: string): ReadonlyMap<string, number> {
  const tokens = [...text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^\s[\]{}:,"]+/g)];
  const positions = new Map<string, number>();
  let at = 0;
  const isNext = (token: string) => tokens[at]?.[0] === token;
  const walk = (path: Path, position: number) => {
    positions.set(JSON.stringify(path), position);
    const isList = isNext('[');
    if (!isList && !isNext('{')) return void at++;
    at++;
    for (let index = 0; at < tokens.length && !isNext(isList ? ']' : '}'); index++) {
      const { 0: name = '', index: start = 0 } = tokens[at] ?? {};
      if (!isList) at += 2;
      walk([...path, isList ? index : JSON.parse(name)], start);
      if (isNext(',')) at++;
    }
    at++;
  };
  walk([], 0);
  return positions;
}
