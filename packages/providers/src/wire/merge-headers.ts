import { fault } from '../errors/wire-fault.ts';

/** Of a caller: `undefined` takes a header of ours away. Names may be in any case. */
export type GivenHeaders =
  | Readonly<Record<string, string | undefined>>
  | Headers
  | readonly (readonly [name: string, value: string | undefined])[];

type ReadHeaders = Readonly<Record<string, string | undefined>>;

/** The same with names in one case, so that none is sent twice. Throws a `WireFault` for what is none. */
export function readHeaders(given: GivenHeaders | undefined): ReadHeaders {
  return Object.fromEntries(
    entriesOf(given ?? {}).map(([name, value]) => [name.toLowerCase(), checked(name, value)]),
  );
}

/** All of them, the later over the earlier. */
export function mergeHeaders(...layers: readonly ReadHeaders[]): Readonly<Record<string, string>> {
  const merged: ReadHeaders = Object.assign({}, ...layers);
  return Object.fromEntries(
    Object.entries(merged).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

function entriesOf(given: GivenHeaders): readonly (readonly [string, unknown])[] {
  return Symbol.iterator in given ? [...given] : Object.entries(given);
}

function checked(name: string, value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  throw fault('invalid_request', `the header ${name} is a ${typeof value}; it must be a string`);
}
