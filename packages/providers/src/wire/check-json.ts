import { fault } from '../errors/wire-fault.ts';

/** As deep as anybody nests, and as JSON is written without trouble. */
const maxDepth = 512;

/** Throws for what JSON cannot say. Fields that are undefined are left out of JSON, and so allowed. */
export function checkJson(value: unknown, path: string): void {
  inspect(value, path, []);
}

function inspect(value: unknown, path: string, above: readonly object[]): void {
  switch (typeof value) {
    case 'bigint':
    case 'function':
    case 'symbol':
      throw fault('invalid_request', `${path} is a ${typeof value}, which JSON does not have`);
    case 'number':
      if (Number.isFinite(value)) return;
      throw fault('invalid_request', `${path} is ${value}, which JSON does not have`);
    case 'object':
      if (value !== null) inspectContainer(value, path, above);
  }
}

function inspectContainer(value: object, path: string, above: readonly object[]): void {
  if (above.includes(value)) throw fault('invalid_request', `${path} contains itself`);
  if (above.length >= maxDepth) throw fault('invalid_request', `${path} is nested too deeply`);
  // Dates and the like: they write themselves.
  if ('toJSON' in value && typeof value.toJSON === 'function') return;
  const within = [...above, value];
  const isList = Array.isArray(value);
  for (const [key, inner] of Object.entries(value)) {
    inspect(inner, isList ? `${path}[${key}]` : `${path}.${key}`, within);
  }
}
