import { fault, type WireFault } from '../errors/wire-fault.ts';

/**
 * Checks a value. If the value is invalid, it throws an `invalid_request` fault. The fault contains the path
 * of the value, but never its content. The path of the whole request is empty.
 */
export type Check = (value: unknown, path: string) => void;

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown, path: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw wrongType('an object', value, path);
}

/** Returns a check for an object with these fields. Other fields are ignored. */
export function object(fields: Readonly<Record<string, Check>>): Check {
  const checks = Object.entries(fields);
  return (value, path) => {
    const given = fieldsOf(value, path);
    for (const [name, check] of checks) check(given[name], path === '' ? name : `${path}.${name}`);
  };
}

/**
 * Returns a check for an object that can have several shapes. The text in the field `tag` selects the shape.
 */
export function variant<Name extends string>(
  tag: string,
  shapes: { readonly [Each in Name]: Check },
): Check {
  const known = oneOf(Object.keys(shapes));
  return (value, path) => {
    const name = fieldsOf(value, path)[tag];
    known(name, `${path}.${tag}`);
    shapes[name as Name](value, path);
  };
}

export function listOf(check: Check): Check {
  return (values, path) => {
    if (!Array.isArray(values)) throw wrongType('an array', values, path);
    for (const [index, value] of values.entries()) check(value, `${path}[${index}]`);
  };
}

export function optional(check: Check): Check {
  return (value, path) => {
    if (value !== undefined) check(value, path);
  };
}

export const text: Check = (value, path) => {
  if (typeof value !== 'string') throw wrongType('a string', value, path);
};

/** Checks that the value is a string that is not empty. */
export const name: Check = (value, path) => {
  text(value, path);
  if (value === '') throw misfit(path, 'empty');
};

export const number: Check = (value, path) => {
  if (typeof value !== 'number') throw wrongType('a number', value, path);
  if (!Number.isFinite(value)) throw misfit(path, `${value}`);
};

export function wholeNumber(least: number, most: number): Check {
  return (value, path) => {
    number(value, path);
    const isInside = Number.isInteger(value) && Number(value) >= least && Number(value) <= most;
    if (!isInside) throw misfit(path, `${value}; use a whole number from ${least} to ${most}`);
  };
}

export const bytes: Check = (value, path) => {
  if (!ArrayBuffer.isView(value)) throw misfit(path, 'not a Uint8Array');
};

/**
 * Returns a check that the value is one of the options. The fault quotes an invalid string, because it is
 * probably a typing error.
 */
export function oneOf<Option extends string>(options: readonly Option[]): Check {
  return (value, path) => {
    if (options.some((option) => option === value)) return;
    const choice = `one of ${options.join(', ')}`;
    if (typeof value !== 'string') throw wrongType(choice, value, path);
    throw misfit(path, `${JSON.stringify(value.slice(0, 40))}; use ${choice}`);
  };
}

function misfit(path: string, what: string): WireFault {
  return fault('invalid_request', `${path || 'the request'} is ${what}`);
}

function wrongType(wanted: string, value: unknown, path: string): WireFault {
  return misfit(path, `${typeName(value)}; it must be ${wanted}`);
}

function typeName(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** Maximum depth of a value. Real requests are less deep, and `JSON.stringify` supports this depth. */
const maxDepth = 512;

/** Checks that JSON can represent the value. Undefined fields are allowed, because JSON omits them. */
export const json: Check = (value, path) => {
  if (value === undefined) throw misfit(path, 'undefined');
  inspect(value, path, []);
};

export const jsonObject: Check = (value, path) => {
  fieldsOf(value, path);
  inspect(value, path, []);
};

function inspect(value: unknown, path: string, above: readonly object[]): void {
  switch (typeof value) {
    case 'bigint':
    case 'function':
    case 'symbol':
      throw misfit(path, `a ${typeof value}, which JSON cannot represent`);
    case 'number':
      if (Number.isFinite(value)) return;
      throw misfit(path, `${value}, which JSON cannot represent`);
    case 'object':
      if (value !== null) inspectContainer(value, path, above);
  }
}

function inspectContainer(value: object, path: string, above: readonly object[]): void {
  if (above.includes(value)) throw fault('invalid_request', `${path} contains itself`);
  if (above.length >= maxDepth) throw misfit(path, 'nested too deeply');
  // Dates and similar objects convert themselves to JSON.
  if ('toJSON' in value && typeof value.toJSON === 'function') return;
  const within = [...above, value];
  const isList = Array.isArray(value);
  for (const [key, inner] of Object.entries(value)) {
    inspect(inner, isList ? `${path}[${key}]` : `${path}.${key}`, within);
  }
}
