import type { JsonObject, JsonValue } from '@millrace/core';
import { isList, isObject } from '../document.ts';

/**
 * The shapes of a request by name. `Body` is the whole request. A shape lists its fields as
 * `name:kinds`, or `name?:kinds` for optional fields. `*` allows other fields.
 * The kinds are `str`, `num`, `bool`, `null`, `any`, a text in quotes, the name of a shape, and
 * lists of them with `[]`. A shape that starts with `=` is a choice of other shapes.
 */
export type FieldTable = Readonly<Record<string, string>>;

/**
 * Returns the invalid fields of a request, at any depth: unknown fields, missing required fields, and fields
 * of a wrong kind.
 */
export function fieldFaults(body: JsonValue | undefined, table: FieldTable): readonly string[] {
  return kindFaults(body ?? null, ['Body'], '', shapesOf(table));
}

interface Field {
  readonly kinds: readonly string[];
  readonly isOptional: boolean;
}

type Shape =
  | { readonly choices: readonly string[] }
  | { readonly fields: ReadonlyMap<string, Field>; readonly isOpen: boolean };

type FieldShape = Extract<Shape, { readonly fields: unknown }>;

type Shapes = (name: string) => Shape | undefined;

const parsed = new WeakMap<FieldTable, Map<string, Shape>>();

/**
 * Returns a function that finds a shape by name. It parses each shape only when it is first used, because a
 * request uses few shapes.
 */
function shapesOf(table: FieldTable): Shapes {
  const known = parsed.get(table) ?? new Map<string, Shape>();
  parsed.set(table, known);
  return (name) => {
    const text = Object.hasOwn(table, name) ? table[name] : undefined;
    if (text === undefined) return undefined;
    const shape = known.get(name) ?? parseShape(text);
    known.set(name, shape);
    return shape;
  };
}

function parseShape(text: string): Shape {
  if (text.startsWith('= ')) return { choices: text.slice(2).split('|') };
  const entries = text.split(' ').filter((entry) => entry !== '' && entry !== '*');
  const fields = entries.map((entry): [string, Field] => {
    const [, name = '', mark, kinds = ''] = /^([^:?]+)(\?)?:(.*)$/.exec(entry) ?? [];
    return [name, { kinds: kinds.split('|'), isOptional: mark === '?' }];
  });
  return { fields: new Map(fields), isOpen: text.endsWith('*') };
}

function kindFaults(
  value: JsonValue,
  kinds: readonly string[],
  at: string,
  shapes: Shapes,
): readonly string[] {
  if (kinds.includes('any')) return [];
  if (isList(value)) {
    const entries = kinds.flatMap((kind) => (kind.endsWith('[]') ? kind.slice(0, -2) : []));
    if (entries.length === 0) return [`${at}: must not be a list`];
    return value.flatMap((entry, index) => kindFaults(entry, entries, `${at}[${index}]`, shapes));
  }
  if (isObject(value)) return objectFaults(value, kinds, at, shapes);
  return isKind(value, kinds, shapes)
    ? []
    : [`${at}: must be ${kinds.map(kindWords).join(' or ')}`];
}

function isKind(value: JsonValue, kinds: readonly string[], shapes: Shapes): boolean {
  return kinds.some((kind) => {
    const shape = shapes(kind);
    if (shape !== undefined && 'choices' in shape) return isKind(value, shape.choices, shapes);
    return kind === simpleKind(value) || kind === JSON.stringify(value);
  });
}

function simpleKind(value: JsonValue): string {
  if (value === null) return 'null';
  const kinds: Readonly<Record<string, string>> = { string: 'str', number: 'num', boolean: 'bool' };
  return kinds[typeof value] ?? typeof value;
}

const words: Readonly<Record<string, string>> = {
  str: 'a text',
  num: 'a number',
  bool: 'true or false',
};

function kindWords(kind: string): string {
  if (kind.endsWith('[]')) return 'a list';
  if (kind.startsWith('"') || kind === 'null') return kind;
  return words[kind] ?? 'an object';
}

/**
 * Checks an object against the shapes that it can have. `type` and `role` select the shapes. If several
 * shapes match, it returns the faults of the shape with the fewest faults.
 */
function objectFaults(
  object: JsonObject,
  kinds: readonly string[],
  at: string,
  shapes: Shapes,
): readonly string[] {
  const choices = fieldShapes(kinds, shapes);
  if (choices.length === 0) return [`${at}: must be ${kinds.map(kindWords).join(' or ')}`];
  const fitting = choices.filter((shape) => isMarkedAs(object, shape));
  if (fitting.length === 0) return [markFault(object, choices, at)];
  const faults = fitting.map((shape) => shapeFaults(object, shape, at, shapes));
  return faults.reduce((least, one) => (one.length < least.length ? one : least));
}

function fieldShapes(kinds: readonly string[], shapes: Shapes): readonly FieldShape[] {
  return kinds.flatMap((kind) => {
    const shape = shapes(kind);
    if (shape === undefined) return [];
    return 'choices' in shape ? fieldShapes(shape.choices, shapes) : [shape];
  });
}

const markNames = ['type', 'role'];

function isMarkedAs(object: JsonObject, { fields }: FieldShape): boolean {
  return markNames.every((name) => {
    const field = fields.get(name);
    if (field === undefined || !field.kinds.some((kind) => kind.startsWith('"'))) return true;
    const value = object[name];
    return value === undefined ? field.isOptional : field.kinds.includes(JSON.stringify(value));
  });
}

/** Returns the fault for an object whose `type` or `role` matches no shape. */
function markFault(object: JsonObject, choices: readonly FieldShape[], at: string): string {
  const isOf = (name: string) =>
    choices.some(({ fields }) => fields.get(name)?.kinds.includes(JSON.stringify(object[name])));
  const name = markNames.find((one) => !isOf(one) && choices.some(({ fields }) => fields.has(one)));
  const value = name === undefined ? undefined : object[name];
  return `${pathOf(at, name ?? 'type')}: ${value === undefined ? 'missing' : `${JSON.stringify(value)} is not known here`}`;
}

function shapeFaults(
  object: JsonObject,
  { fields, isOpen }: FieldShape,
  at: string,
  shapes: Shapes,
): readonly string[] {
  const missing = [...fields]
    .filter(([name, { isOptional }]) => !isOptional && object[name] === undefined)
    .map(([name]) => `${pathOf(at, name)}: missing`);
  const wrong = Object.entries(object).flatMap(([name, value]) => {
    const field = fields.get(name);
    const path = pathOf(at, name);
    if (field !== undefined) return kindFaults(value, field.kinds, path, shapes);
    return isOpen ? [] : [`${path}: unknown field`];
  });
  return [...missing, ...wrong];
}

const pathOf = (at: string, name: string) => (at === '' ? name : `${at}.${name}`);
