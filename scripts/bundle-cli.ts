import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { noticeFile, thirdPartyNotices } from './third-party.ts';

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
  // Node 22 is the oldest supported version. It has no `using`.
  transform: {
    target: 'es2024',
    define: { 'process.env.NODE_ENV': '"production"', 'process.env.DEV': '"false"' },
  },
  // Ink imports this package only while Ink itself is developed.
  external: ['react-devtools-core'],
  plugins: [{ name: 'quick-start', transform: quickStart }],
});
rmSync(folder, { recursive: true, force: true });
const { output } = await bundle.write({ dir: folder, chunkFileNames: '[name]-[hash].js' });
await bundle.close();
const modules = output.flatMap((one) => (one.type === 'chunk' ? one.moduleIds : []));
writeFileSync(join(folder, noticeFile), thirdPartyNotices(modules));

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
