import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type OutputChunk, rolldown } from 'rolldown';

const root = fileURLToPath(new URL('..', import.meta.url));
const cli = join(root, 'apps/cli');
/** Beside `src` and `dist`, so that the manifest is one folder up for all of them. */
const folder = process.argv[2] ?? join(cli, 'bundle');

/**
 * The command in a few files instead of the 1,400 that it is made of: finding, opening and linking those
 * takes more than half of the time to the prompt.
 */
const bundle = await rolldown({
  input: {
    main: join(cli, 'src/main.ts'),
    // Started by its address, beside whoever starts it.
    'search-worker': join(root, 'packages/tools/src/search/search-worker.ts'),
  },
  platform: 'node',
  resolve: { conditionNames: ['@millrace/source', 'node', 'default'] },
  transform: { define: { 'process.env.NODE_ENV': '"production"', 'process.env.DEV': '"false"' } },
  // Ink's, and only asked for by who works on Ink.
  external: ['react-devtools-core'],
  plugins: [{ name: 'quick-start', transform: quickStart }],
});
rmSync(folder, { recursive: true, force: true });
const { output } = await bundle.write({ dir: folder, chunkFileNames: '[name]-[hash].js' });
await bundle.close();
const chunks = output.filter((one) => one.type === 'chunk');
writeFileSync(join(folder, 'THIRD-PARTY.txt'), licences(chunks));

/**
 * Two things that cost a tenth of the start each. Ink's layout asks `fetch` for the bytes that it has
 * itself, and so loads all of Node's HTTP client. And what a text is wide is asked a pattern that takes
 * 20 ms to make, and is of use only where there are emoji.
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
  if (!code.includes(from)) throw new Error(`There is no ${from} any more: look what became of it`);
  return code.replaceAll(from, () => to);
}

/** Of everything in it that is not ours: that is what most of them ask for. */
function licences(all: readonly OutputChunk[]): string {
  const found = all.flatMap(({ moduleIds }) => moduleIds.flatMap((id) => packageOf(id) ?? []));
  return [...new Set(found)].sort().map(licenceOf).join('\n\n');
}

/** The folder of the package that a module is of; undefined where it is one of ours. */
function packageOf(module: string): string | undefined {
  if (!module.includes('/node_modules/')) return undefined;
  let at = dirname(module);
  while (!isPackage(at)) at = dirname(at);
  return at;
}

/** Some folders inside of a package have a manifest too, without a name. */
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
