// Bundles a module of the workspace for a runtime without Node. Reports the imports that this
// runtime cannot resolve.
import { isBuiltin } from 'node:module';
import { relative } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';

/** An import of a Node module, and the files that lead to it. The first file is the entry. */
interface NodeImport {
  readonly module: string;
  readonly chain: readonly string[];
}

export interface WebBundle {
  readonly code: string;
  readonly nodeImports: readonly NodeImport[];
}

/** Optional peers. An entry can import them only if the user has installed them. */
const optionalPeers = /^(?:aws4fetch|google-auth-library|react|react\/.*|@opentelemetry\/api)$/;

/** Bundles one entry. Packages of the workspace are resolved to their TypeScript source. */
export async function bundleForWeb(
  entry: string,
  external: readonly string[] = [],
): Promise<WebBundle> {
  const nodeImports: NodeImport[] = [];
  const bundle = await rolldown({
    input: entry,
    platform: 'browser',
    // The entries are libraries, so the bundle does not include optional peers.
    external: (id) => optionalPeers.test(id) || external.includes(id),
    resolve: { conditionNames: ['@millrace/source', 'browser', 'import', 'default'] },
    plugins: [recordNodeImports(entry, nodeImports)],
    logLevel: 'silent',
  });
  try {
    const { output } = await bundle.generate({ format: 'esm', codeSplitting: false });
    return { code: output[0].code, nodeImports };
  } finally {
    await bundle.close();
  }
}

function recordNodeImports(entry: string, found: NodeImport[]): Plugin {
  /** For each file, the first file that imported it. */
  const importers = new Map<string, string>();
  const chainTo = (file: string): readonly string[] => {
    const chain = [file];
    for (let at = importers.get(file); at !== undefined; at = importers.get(at)) chain.unshift(at);
    return chain.map((path) => relative(process.cwd(), path));
  };
  return {
    name: 'record-node-imports',
    async resolveId(source, importer) {
      if (importer === undefined) return undefined;
      if (isBuiltin(source)) {
        found.push({ module: source, chain: chainTo(importer) });
        return { id: source, external: true };
      }
      const resolved = await this.resolve(source, importer, { skipSelf: true });
      if (resolved && !resolved.external && resolved.id !== entry && !importers.has(resolved.id))
        importers.set(resolved.id, importer);
      return resolved;
    },
  };
}
