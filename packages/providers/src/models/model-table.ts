import type { ModelInfo, ModelTable } from '../contract/model-info.ts';

/**
 * Rows of a table by key. A key is `provider/model`, or a model's name alone for every provider. A
 * key that ends with `*` applies to all models whose names start with the text before it.
 */
export type ModelRows = Readonly<Record<string, ModelInfo>>;

/** Finds a row by its exact key. A source may create a row only when it is needed. */
export interface RowSource {
  /** The keys that end with `*`, without the `*`. */
  readonly families: readonly string[];
  row(key: string): ModelInfo | undefined;
}

/**
 * Creates a table from rows. A lookup prefers the row with the exact name, then the row with the
 * name without its date, then the row with the longest matching name that ends with `*`.
 *
 * @example
 * const table = createModelTable({ 'vllm/qwen3-32b': { contextTokens: 40_960 } });
 */
export function createModelTable(rows: ModelRows): ModelTable {
  const byKey = new Map(Object.entries(rows).map(([key, row]) => [key.toLowerCase(), row]));
  return tableOf({
    families: [...byKey.keys()].filter((key) => key.endsWith('*')).map((key) => key.slice(0, -1)),
    row: (key) => byKey.get(key),
  });
}

/** Joins facts about one model. An earlier fact takes precedence over a later one. */
export function joinInfo(...infos: readonly (ModelInfo | undefined)[]): ModelInfo {
  const found = infos.flatMap((info) => (info === undefined ? [] : definedFields(info)));
  return Object.assign({}, ...found.toReversed());
}

/**
 * Returns the fields that are not undefined. An undefined field is unknown and must not hide a
 * later fact.
 */
function definedFields(info: ModelInfo): ModelInfo {
  return Object.fromEntries(Object.entries(info).filter(([, value]) => value !== undefined));
}

export function tableOf(source: RowSource): ModelTable {
  return {
    find: (provider, model) => {
      for (const { vendor, isOwn } of vendorsOf(provider, model)) {
        const info = rowOf(source, vendor, namesOf(model));
        if (info !== undefined) return isOwn ? info : withoutPrices(info);
      }
      return undefined;
    },
  };
}

function rowOf(source: RowSource, vendor: string, names: readonly string[]): ModelInfo | undefined {
  const keys =
    vendor === ''
      ? names.filter((name) => !name.includes('/'))
      : names.map((name) => `${vendor}/${name}`);
  for (const key of keys) {
    const info = source.row(key);
    if (info !== undefined) return info;
  }
  const fitting = source.families.filter((family) => keys.some((key) => key.startsWith(family)));
  const longest = fitting.reduce((long, one) => (one.length > long.length ? one : long), '');
  return longest === '' ? undefined : source.row(`${longest}*`);
}

/** Removes the prices. A server can sell the models of other vendors at its own prices. */
function withoutPrices({ prices: _, ...info }: ModelInfo): ModelInfo {
  return info;
}

interface VendorOfModel {
  readonly vendor: string;
  /** Whether the prices of the vendor's row apply. */
  readonly isOwn: boolean;
}

/** The vendors of providers that serve a vendor's models at the vendor's prices. */
const vendorOfProvider: Readonly<Record<string, string>> = {
  azure: 'openai',
  'anthropic-bedrock': 'anthropic',
  'anthropic-vertex': 'anthropic',
  vertex: 'gemini',
  google: 'gemini',
};

/** The vendors of prefixes in gateways' model names, if the prefix differs from the vendor's id. */
const vendorOfPrefix: Readonly<Record<string, string>> = {
  google: 'gemini',
  'x-ai': 'xai',
  mistralai: 'mistral',
  moonshotai: 'moonshot',
  'z-ai': 'zai',
  'zai-org': 'zai',
  'deepseek-ai': 'deepseek',
};

/** The vendors whose models other servers offer under the same names. */
const sharedVendors = [
  ...['anthropic', 'openai', 'gemini', 'xai', 'deepseek', 'mistral', 'moonshot', 'zai', 'minimax'],
];

/** The servers that users run themselves. Their models can have any names and limits. */
const localServers = new Set(['ollama', 'vllm', 'llama.cpp', 'lm-studio']);

/** The vendors of hosts that are used with the preset for any server. */
const vendorOfHost: Readonly<Record<string, string>> = {
  'api.anthropic.com': 'anthropic',
  'api.openai.com': 'openai',
  'api.x.ai': 'xai',
  'api.deepseek.com': 'deepseek',
  'api.mistral.ai': 'mistral',
  'api.groq.com': 'groq',
  'api.together.xyz': 'together',
  'api.moonshot.ai': 'moonshot',
  'api.z.ai': 'zai',
  'api.minimax.io': 'minimax',
  'api.cerebras.ai': 'cerebras',
};

/** The gateways that charge the vendors' prices. */
const passThroughGateways = new Set(['litellm']);

/**
 * Returns the vendors to search, in order. The provider itself comes first, so that a row for one
 * server takes precedence.
 */
function vendorsOf(provider: string, model: string): readonly VendorOfModel[] {
  const id = provider.toLowerCase();
  const [server = '', host] = id.split('@');
  const name = server.replace(/-responses$/, '').replace(/\..*$/, (rest) => familyRest(rest));
  // A vendor's API at another host is another server.
  const vendor = host === undefined ? (vendorOfProvider[name] ?? name) : vendorOfHost[host];
  const isVendor = vendor === name || !sharedVendors.includes(name);
  const itself = isVendor ? [id, server, name] : [id];
  const own = [...new Set([...itself, vendor ?? '', ''])].map((one) => ({
    vendor: one,
    isOwn: true,
  }));
  if (localServers.has(name)) return own;
  const isOwn = passThroughGateways.has(name);
  const prefix = /^([^/]+)\//.exec(model.toLowerCase())?.[1] ?? '';
  const others = [vendorOfPrefix[prefix] ?? prefix, ...sharedVendors].filter((one) => one !== '');
  return [...own, ...others.map((one) => ({ vendor: one, isOwn }))];
}

/**
 * Returns the end of a server's name to keep. AI SDK packages put the name of their API after a
 * point, as in `anthropic.messages`. The name `llama.cpp` itself has a point.
 */
function familyRest(rest: string): string {
  return rest === '.cpp' ? rest : '';
}

/**
 * Returns the names to look for, from the most to the least exact. The less exact names omit the
 * prefix and suffix that a gateway adds, the prefix and version that Bedrock adds, and a date.
 */
function namesOf(model: string): readonly string[] {
  const full = model.trim().toLowerCase();
  const last = full.slice(full.lastIndexOf('/') + 1);
  // The prefix `ft:` is kept, because a tuned model has other prices than its base model.
  const base = last.replace(/^(ft:[^:]+|[^:]+):.*$/, '$1');
  const claude = base
    .replace(/^.*?(?=claude-)/, '')
    .replace(/-v\d+$/, '')
    .replaceAll('.', '-');
  const bare = base.includes('claude-') ? claude : base;
  const names = [full, last, base, bare];
  return [...new Set([...names, ...names.map(withoutDate)])];
}

function withoutDate(name: string): string {
  return name
    .replace(/[-@]20\d{2}-?[01]\d-?[0-3]\d(?=$|[-:])/, '')
    .replace(/[-@](?:latest|default)$/, '');
}
