import type { ApiOptions } from './api-options.ts';

/** A copy, so that what the caller does to the object later changes nothing. Throws for a model without a name. */
export function readOptions<Options extends Pick<ApiOptions, 'model' | 'headers'>>(
  options: Options,
): Options {
  const { model } = options;
  if (typeof model !== 'string' || model.trim() === '') {
    throw new TypeError(`Cannot use ${shown(model)} as model: pass its name`);
  }
  const copied = Object.entries(options).map(([name, value]) => [name, copyOf(value)]);
  return Object.fromEntries(copied) as Options;
}

/** Two levels down is as deep as options go that we read. Objects of a class are the caller's. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return [...value];
  if (typeof value !== 'object' || value === null) return value;
  if (Object.getPrototypeOf(value) === Object.prototype) return { ...value };
  // Last, because to name this class is to load Node's HTTP client, some 30 ms.
  return value instanceof Headers ? new Headers(value) : value;
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
