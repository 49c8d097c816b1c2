import type { Endpoint } from './endpoint.ts';
import { serverId } from './server-id.ts';

export interface DialectOptions<Dialect, Preset> {
  readonly preset?: Preset | undefined;
  readonly dialect?: Partial<Dialect> | undefined;
  readonly baseUrl?: string | URL | undefined;
}

/**
 * What is known of the server that the options name: the preset's, with their changes. A server that
 * only a base URL names goes by where it is. Throws for a preset that is not there.
 */
export function dialectOf<Dialect extends Endpoint, Preset extends string>(
  presets: { readonly [Name in Preset | 'compatible' | 'openai']: Dialect },
  options: DialectOptions<Dialect, Preset>,
): Dialect {
  const { baseUrl, dialect = {} } = options;
  const preset = options.preset ?? (baseUrl === undefined ? 'openai' : 'compatible');
  if (!Object.hasOwn(presets, preset)) throw unknownPreset(preset, Object.keys(presets));
  const known = presets[preset];
  // A change that is undefined is none.
  const changes = Object.entries(dialect).filter(([, value]) => value !== undefined);
  const id = preset === 'compatible' ? serverId(known.id, baseUrl ?? known.baseUrl) : known.id;
  return { ...known, id, ...Object.fromEntries(changes) };
}

function unknownPreset(preset: string, names: readonly string[]): TypeError {
  const list = names.join(', ');
  return new TypeError(`Cannot use preset ${JSON.stringify(preset)}: use one of ${list}`);
}
