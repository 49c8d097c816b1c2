import { fault, type WireFault } from '../errors/wire-fault.ts';

// The functions in this file check single values. They throw an `invalid_request` fault that
// contains the path, but never the content.

export type Fields = Readonly<Record<string, unknown>>;

export function checkObject(value: unknown, path: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw wrongType('an object', value, path);
}

export function checkArray(value: unknown, path: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw wrongType('an array', value, path);
}

export function checkText(value: unknown, path: string): void {
  if (typeof value !== 'string') throw wrongType('a string', value, path);
}

export function checkName(value: unknown, path: string): void {
  checkText(value, path);
  if (value === '') throw fault('invalid_request', `${path} is empty`);
}

export function checkNumber(value: unknown, path: string): void {
  if (typeof value !== 'number') throw wrongType('a number', value, path);
  if (!Number.isFinite(value)) throw fault('invalid_request', `${path} is ${value}`);
}

export function checkWhole(value: unknown, path: string, least: number, most: number): void {
  checkNumber(value, path);
  const isInside = Number.isInteger(value) && Number(value) >= least && Number(value) <= most;
  if (isInside) return;
  throw fault(
    'invalid_request',
    `${path} is ${value}; use a whole number from ${least} to ${most}`,
  );
}

/**
 * Checks that the value is one of the options. The fault quotes a wrong string, because it is
 * probably a typing mistake.
 */
export function checkOneOf<Option extends string>(
  value: unknown,
  path: string,
  options: readonly Option[],
): Option {
  const option = options.find((one) => one === value);
  if (option !== undefined) return option;
  if (typeof value !== 'string') throw wrongType(`one of ${options.join(', ')}`, value, path);
  const shown = JSON.stringify(value.slice(0, 40));
  throw fault('invalid_request', `${path} is ${shown}; use one of ${options.join(', ')}`);
}

function wrongType(wanted: string, value: unknown, path: string): WireFault {
  return fault('invalid_request', `${path} is ${typeName(value)}; it must be ${wanted}`);
}

function typeName(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** Maximum depth of a value. No real request is so deep, and JSON.stringify can still write it. */
const maxDepth = 512;

/**
 * Throws if JSON cannot represent the value. Undefined fields are allowed, because JSON leaves them
 * out.
 */
export function checkJson(value: unknown, path: string): void {
  inspect(value, path, []);
}

function inspect(value: unknown, path: string, above: readonly object[]): void {
  switch (typeof value) {
    case 'bigint':
    case 'function':
    case 'symbol':
      throw fault('invalid_request', `${path} is a ${typeof value}, which JSON cannot represent`);
    case 'number':
      if (Number.isFinite(value)) return;
      throw fault('invalid_request', `${path} is ${value}, which JSON cannot represent`);
    case 'object':
      if (value !== null) inspectContainer(value, path, above);
  }
}

function inspectContainer(value: object, path: string, above: readonly object[]): void {
  if (above.includes(value)) throw fault('invalid_request', `${path} contains itself`);
  if (above.length >= maxDepth) throw fault('invalid_request', `${path} is nested too deeply`);
  // Dates and similar objects convert themselves to JSON.
  if ('toJSON' in value && typeof value.toJSON === 'function') return;
  const within = [...above, value];
  const isList = Array.isArray(value);
  for (const [key, inner] of Object.entries(value)) {
    inspect(inner, isList ? `${path}[${key}]` : `${path}.${key}`, within);
  }
}
