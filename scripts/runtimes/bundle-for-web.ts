// Bundles modules of the workspace for a runtime without Node. Reports the imports that this
// runtime cannot resolve.
import { isBuiltin } from 'node:module';
import { relative } from 'node:path';
import { type InputOptions, type Plugin, rolldown } from 'rolldown';

/** An import of a Node module, and the files that lead to it. The first file is the entry. */
interface NodeImport {
  readonly module: string;
  readonly chain: readonly string[];
}

export interface WebBundle {
  readonly code: string;
  readonly nodeImports: readonly NodeImport[];
}

/** The imports of each file. A Node module is in the list with its name. */
type ImportGraph = Map<string, Set<string>>;

/** Optional peers. An entry can import them only if the user has installed them. */
const optionalPeers = /^(?:aws4fetch|google-auth-library|react|react\/.*|@opentelemetry\/api)$/;

/** Bundles one entry. Packages of the workspace are resolved to their TypeScript source. */
export async function bundleForWeb(
  entry: string,
  external: readonly string[] = [],
): Promise<WebBundle> {
  const graph: ImportGraph = new Map();
  const bundle = await rolldown(optionsFor([entry], graph, external));
  try {
    const { output } = await bundle.generate({ format: 'esm', codeSplitting: false });
    return { code: output[0].code, nodeImports: nodeImportsOf(entry, graph) };
  } finally {
    await bundle.close();
  }
}

/**
 * Returns a function that returns the imports of Node modules of an entry. All entries are in one
 * bundle, so each file is read only once.
 */
export async function readNodeImports(
  entries: readonly string[],
): Promise<(entry: string) => readonly NodeImport[]> {
  const graph: ImportGraph = new Map();
  const bundle = await rolldown(optionsFor(entries, graph));
  try {
    await bundle.generate({ format: 'esm' });
    return (entry) => nodeImportsOf(entry, graph);
  } finally {
    await bundle.close();
  }
}

function optionsFor(
  entries: readonly string[],
  graph: ImportGraph,
  external: readonly string[] = [],
): InputOptions {
  return {
    input: [...entries],
    platform: 'browser',
    // The entries are libraries, so the bundle does not include optional peers.
    external: (id) => optionalPeers.test(id) || external.includes(id),
    resolve: { conditionNames: ['@millrace/source', 'browser', 'import', 'default'] },
    plugins: [recordImports(graph)],
    logLevel: 'silent',
  };
}

function recordImports(graph: ImportGraph): Plugin {
  const record = (importer: string, imported: string) => {
    const known = graph.get(importer) ?? new Set();
    graph.set(importer, known.add(imported));
  };
  return {
    name: 'record-imports',
    async resolveId(source, importer) {
      if (importer === undefined) return undefined;
      if (isBuiltin(source)) {
        record(importer, source);
        return { id: source, external: true };
      }
      const resolved = await this.resolve(source, importer, { skipSelf: true });
      if (resolved && !resolved.external) record(importer, resolved.id);
      return resolved;
    },
  };
}

/** Follows all imports of an entry, and returns the imports of Node modules on the way. */
function nodeImportsOf(entry: string, graph: ImportGraph): readonly NodeImport[] {
  const found: NodeImport[] = [];
  const chains = new Map([[entry, [entry]]]);
  // A map also visits the entries that are added during the loop.
  for (const [file, chain] of chains) {
    for (const imported of graph.get(file) ?? []) {
      if (isBuiltin(imported))
        found.push({ module: imported, chain: chain.map((one) => relative(process.cwd(), one)) });
      else if (!chains.has(imported)) chains.set(imported, [...chain, imported]);
    }
  }
  return found;
}
