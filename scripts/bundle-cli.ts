import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type OutputChunk, rolldown } from 'rolldown';

const root = fileURLToPath(new URL('..', import.meta.url));
const cli = join(root, 'apps/cli');
/** The bundle is beside `src` and `dist`, so that package.json is one folder up for all of them. */
const folder = process.argv[2] ?? join(cli, 'bundle');

/**
 * Bundles the command into a few files. Without it, finding, opening and linking more than a thousand
 * files takes more than half of the start-up time.
 */
const bundle = await rolldown({
  input: {
    main: join(cli, 'src/main.ts'),
    // The search tool starts this worker by its path, relative to its own file.
    'worker/search-worker': join(root, 'packages/tools/src/search/worker/search-worker.ts'),
  },
  platform: 'node',
  resolve: { conditionNames: ['@millrace/source', 'node', 'default'] },
  transform: { define: { 'process.env.NODE_ENV': '"production"', 'process.env.DEV': '"false"' } },
  // Ink imports this package only while Ink itself is developed.
  external: ['react-devtools-core'],
  plugins: [{ name: 'quick-start', transform: quickStart }],
});
rmSync(folder, { recursive: true, force: true });
const { output } = await bundle.write({ dir: folder, chunkFileNames: '[name]-[hash].js' });
await bundle.close();
const chunks = output.filter((one) => one.type === 'chunk');
writeFileSync(join(folder, 'THIRD-PARTY.txt'), licences(chunks));

/**
 * Removes two costs, each a tenth of the start-up time. Ink's layout engine calls `fetch` for bytes that
 * it already has, which loads Node's whole HTTP client. And string-width compiles a pattern for 20 ms
 * that is useful only for emoji.
 */
function quickStart(code: string, id: string): string | undefined {
  if (id.endsWith('/yoga-wasm-base64-esm.js')) {
    return replaced(code, 'typeof fetch', 'typeof undefined');
  }
  if (!/\/string-width\/index\.js$/.test(id)) return undefined;
  const lazy =
    'test: (text) => /\\p{Emoji}/u.test(text) && (rgi ??= /^\\p{RGI_Emoji}$/v).test(text)';
  const pattern = 'const rgiEmojiRegex = /^\\p{RGI_Emoji}$/v;';
  return replaced(code, pattern, `let rgi;\nconst rgiEmojiRegex = { ${lazy} };`);
}

function replaced(code: string, from: string, to: string): string {
  if (!code.includes(from))
    throw new Error(
      `Cannot find ${from} in a dependency: adapt quickStart in scripts/bundle-cli.ts to its new version`,
    );
  return code.replaceAll(from, () => to);
}

/** Collects the licences of all bundled packages, as most licences require. */
function licences(all: readonly OutputChunk[]): string {
  const found = all.flatMap(({ moduleIds }) => moduleIds.flatMap((id) => packageOf(id) ?? []));
  return [...new Set(found)].sort().map(licenceOf).join('\n\n');
}

/** Returns the folder of a module's package; undefined for modules of this repository. */
function packageOf(module: string): string | undefined {
  if (!module.includes('/node_modules/')) return undefined;
  let at = dirname(module);
  while (!isPackage(at)) at = dirname(at);
  return at;
}

/** Some folders inside a package have a package.json without a version. */
function isPackage(at: string): boolean {
  const manifest = join(at, 'package.json');
  return existsSync(manifest) && readFileSync(manifest, 'utf8').includes('"version"');
}

function licenceOf(at: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(at, 'package.json'), 'utf8'));
  const file = readdirSync(at).find((one) => /^licen[cs]e/i.test(one));
  const text = file === undefined ? '' : `\n\n${readFileSync(join(at, file), 'utf8').trim()}`;
  return `${name} ${version} (${license})${text}\n`;
}
