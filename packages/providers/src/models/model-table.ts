import type { ModelInfo, ModelTable } from '../contract/model-info.ts';

/**
 * The rows of a table, by key. A key is `provider/model`, or only the name of a model, which applies to every
 * provider. A key that ends with `*` applies to all models whose names start with the text before `*`.
 */
export type ModelRows = Readonly<Record<string, ModelInfo>>;

/** Finds a row by its exact key. An implementation may create a row only when it is needed. */
export interface RowSource {
  /** The keys that end with `*`, without the `*`. */
  readonly families: readonly string[];
  row(key: string): ModelInfo | undefined;
}

/**
 * Creates a table from rows. A lookup first tries the exact name, and then the name without its date. Finally
 * it uses the row with the longest matching key that ends with `*`.
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

/** Joins data about one model. An earlier argument takes precedence over a later one. */
export function joinInfo(...infos: readonly (ModelInfo | undefined)[]): ModelInfo {
  const found = infos.flatMap((info) => (info === undefined ? [] : definedFields(info)));
  return Object.assign({}, ...found.toReversed());
}

/**
 * Returns the fields that are not undefined. An undefined field means that its value is unknown. It must not
 * replace the known value of a later argument.
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

/** Removes the prices. A server may sell the models of other vendors at different prices. */
function withoutPrices({ prices: _, ...info }: ModelInfo): ModelInfo {
  return info;
}

interface VendorOfModel {
  readonly vendor: string;
  /** True if the prices in the vendor's row apply. */
  readonly isOwn: boolean;
}

/** Providers that sell a vendor's models at the vendor's prices, each with the id of the vendor. */
const vendorOfProvider: Readonly<Record<string, string>> = {
  azure: 'openai',
  'anthropic-bedrock': 'anthropic',
  'anthropic-vertex': 'anthropic',
  vertex: 'gemini',
  google: 'gemini',
};

/**
 * Prefixes in the model names of gateways, each with the id of the vendor. Only prefixes that differ from the
 * vendor's id are listed.
 */
const vendorOfPrefix: Readonly<Record<string, string>> = {
  google: 'gemini',
  'x-ai': 'xai',
  mistralai: 'mistral',
  moonshotai: 'moonshot',
  'z-ai': 'zai',
  'zai-org': 'zai',
  'deepseek-ai': 'deepseek',
};

/** The vendors whose models are offered by other servers under the same names. */
const sharedVendors = [
  ...['anthropic', 'openai', 'gemini', 'xai', 'deepseek', 'mistral', 'moonshot', 'zai', 'minimax'],
];

/** Servers that users run themselves. Their models can have any names and limits. */
const localServers = new Set(['ollama', 'vllm', 'llama.cpp', 'lm-studio']);

/** Known host names, each with the id of the vendor. They are used if the options contain only a base URL. */
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

/** The gateways that charge the same prices as the vendors. */
const passThroughGateways = new Set(['litellm']);

/**
 * Returns the vendors to search, in order. The provider itself comes first, so that a row for one specific
 * server takes precedence.
 */
function vendorsOf(provider: string, model: string): readonly VendorOfModel[] {
  const id = provider.toLowerCase();
  const [server = '', host] = id.split('@');
  const name = server.replace(/-responses$/, '').replace(/\..*$/, (rest) => familyRest(rest));
  // If a vendor's API runs at a different host, it is a different server.
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
 * Receives the end of a server's name, starting with its first dot. Returns this end for `llama.cpp`, because
 * the dot is part of this name. Returns an empty text for other names, because AI SDK packages put the name of
 * their API after the dot, as in `anthropic.messages`.
 */
function familyRest(rest: string): string {
  return rest === '.cpp' ? rest : '';
}

/**
 * Returns the names to search for, from the most to the least exact. The less exact names omit the prefix and
 * suffix of a gateway, the prefix and version of Bedrock, and a date.
 */
function namesOf(model: string): readonly string[] {
  const full = model.trim().toLowerCase();
  const last = full.slice(full.lastIndexOf('/') + 1);
  // The prefix `ft:` is kept, because a fine-tuned model has different prices than its base model.
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
