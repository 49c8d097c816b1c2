import { z } from 'zod';
import { nearestName } from '../args/nearest-name.ts';
import { ConfigError } from './config-error.ts';
import { lineAndColumn, nameText, type Path, pathText, positionOf } from './place-of.ts';
import type { JsonFile } from './read-json-file.ts';

/** What a file says, if it says it as the schema wants. The first thing that is wrong is told. */
export function checkFile<Value>(file: JsonFile, schema: z.ZodType<Value>): Value {
  const { data, error } = schema.safeParse(file.value);
  const [issue] = error?.issues ?? [];
  if (issue === undefined) return data as Value;
  if (issue.code !== 'unrecognized_keys') throw badPlace(file, issue.path, explain(issue));
  const [key = ''] = issue.keys;
  throw badPlace(file, [...issue.path, key], unknownName(key, namesAt(schema, issue.path)));
}

/** An error at a place of a file. It says what is wrong there, never what stands there. */
export function badPlace(
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

function unknownName(name: string, known: readonly string[]): string {
  const near = nearestName(name, known);
  const hint =
    near === undefined ? `Known are ${known.join(', ')}` : `Did you mean ${nameText(near)}?`;
  return `is not known. ${hint}`;
}

function explain(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `has to be ${articleFor(issue.expected)}`;
    case 'invalid_value':
      return `has to be one of ${issue.values.map((value) => String(value)).join(', ')}`;
    case 'too_small':
      return issue.origin === 'string' ? 'is empty' : `has to be at least ${issue.minimum}`;
    case 'too_big':
      return `has to be at most ${issue.maximum}`;
    case 'invalid_key':
      return 'has a name that is empty';
    default:
      return `cannot be used: ${issue.message}`;
  }
}

function articleFor(expected: string): string {
  const names: Readonly<Record<string, string>> = {
    string: 'a text',
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

/** The names that may stand at a place. */
function namesAt(schema: z.ZodType, path: Path): readonly string[] {
  const root = z.toJSONSchema(schema) as SchemaNode;
  const step = (node: SchemaNode | undefined, name: PropertyKey) =>
    node?.properties?.[String(name)] ?? node?.additionalProperties;
  const node = path.reduce<SchemaNode | undefined>(step, root);
  return Object.keys(node?.properties ?? {});
}
