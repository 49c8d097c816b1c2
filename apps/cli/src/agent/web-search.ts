import type { Tool } from '@millrace/agent';
import { type SearchService, searchServices, webSearchTool } from '@millrace/tools';
import type { Config } from '../contract/config.ts';
import { ConfigError } from '../contract/errors.ts';
import type { Extensions } from '../contract/extensions.ts';
import type { Env } from '../contract/host.ts';
import { matcherAccepts } from '../extensions/hook-settings.ts';
import { toHookCall } from '../extensions/tool-names.ts';
import { firstSetVariable } from '../models/vendors.ts';

/** The search tool of a session. */
export interface WebSearch {
  readonly tool: Tool;
  /** The host that gets the queries. */
  readonly host: string;
}

/**
 * Returns the search tool for the setting `webSearch`. Returns undefined if search is off, if the provider of
 * the model searches, or if `auto` finds no key. Throws if the key of the requested service is missing.
 */
export function openWebSearch(
  setting: Config['webSearch'] = 'auto',
  env: Env = {},
): WebSearch | undefined {
  if (setting === 'off' || setting === 'hosted') return undefined;
  const names = Object.keys(searchServices) as SearchService[];
  for (const service of setting === 'auto' ? names : [setting]) {
    const { host, keyVariable } = searchServices[service];
    const apiKey = firstSetVariable(env, [keyVariable])?.value;
    if (apiKey !== undefined) return { tool: webSearchTool({ service, apiKey }), host };
  }
  if (setting === 'auto') return undefined;
  const way = `Set ${searchServices[setting].keyVariable}, or use another --web-search`;
  throw new ConfigError(`Cannot search the web with ${setting}: its key is not set. ${way}`, {
    name: 'webSearch',
  });
}

/** Returns a warning if hooks guard searches, but the provider searches without a call that hooks receive. */
export function unguardedSearch(
  { webSearch }: Pick<Config, 'webSearch'>,
  extensions: Extensions | undefined,
): string | undefined {
  const { names } = toHookCall('web_search', { query: '' }, { cwd: '/' });
  const isGuard = ({ matcher = '' }: { readonly matcher?: string | undefined }) =>
    matcher !== '' && matcher !== '*' && matcherAccepts(matcher, names);
  if (webSearch !== 'hosted' || !extensions?.hooks.some(isGuard)) return undefined;
  return 'A hook is for web_search, but it does not receive searches of the provider (--web-search hosted).';
}
