import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { knownLanguages } from '../apps/cli/src/text/code/languages.ts';
import { noticeFile, thirdPartyNotices } from './third-party.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const cli = join(root, 'apps/cli');
/**
 * The folder of the bundle. It is next to `src` and `dist`, so that the path to package.json is the
 * same for all three.
 */
const folder = process.argv[2] ?? join(cli, 'bundle');

/**
 * Bundles the command into a few files. Without a bundle, Node must find, open and link more than a
 * thousand files. This takes more than half of the start time.
 */
const bundle = await rolldown({
  input: {
    main: join(cli, 'src/main.ts'),
    // The search tool starts this worker by a path that is relative to its own file.
    'worker/search-worker': join(root, 'packages/tools/src/search/worker/search-worker.ts'),
    // Each extension of the user runs in this worker.
    'worker/extension-worker': join(cli, 'src/extensions/code/extension-worker.ts'),
  },
  platform: 'node',
  resolve: { conditionNames: ['@millrace/source', 'node', 'default'] },
  // Node 22 is the oldest supported version, and it does not support `using`.
  transform: {
    target: 'es2024',
    define: { 'process.env.NODE_ENV': '"production"', 'process.env.DEV': '"false"' },
  },
  // Ink imports this package only when developers work on Ink itself.
  external: ['react-devtools-core'],
  plugins: [
    { name: 'quick-start', transform: quickStart },
    { name: 'own-modules', transform: ownModules },
  ],
});
rmSync(folder, { recursive: true, force: true });
const { output } = await bundle.write({ dir: folder, chunkFileNames: '[name]-[hash].js' });
await bundle.close();
const modules = output.flatMap((one) => (one.type === 'chunk' ? one.moduleIds : []));
writeFileSync(join(folder, noticeFile), thirdPartyNotices([...modules, ...copyGrammars()]));

/**
 * Copies the grammars, because the program loads them one by one on demand. Returns the copied
 * files. They are CommonJS, unlike the other files of the package.
 */
function copyGrammars(): readonly string[] {
  const { resolve } = createRequire(import.meta.url);
  const names = ['core', ...knownLanguages.map((name) => `languages/${name}`)];
  const target = join(folder, 'grammars');
  mkdirSync(target);
  writeFileSync(join(target, 'package.json'), '{ "type": "commonjs" }\n');
  return names.map((name) => {
    const file = resolve(`highlight.js/lib/${name}`);
    mkdirSync(dirname(join(target, name)), { recursive: true });
    cpSync(file, join(target, `${name}.js`));
    return file;
  });
}

/**
 * Changes modules so that the program loads no code from outside of its own folder. The sandbox
 * does not protect packages next to the program. A command could put a package there, and this
 * package would run with all rights of the agent.
 */
function ownModules(code: string, id: string): string | undefined {
  if (id.endsWith('/src/text/code/grammar.ts'))
    return replaced(code, 'highlight.js/lib/', './grammars/');
  // Ink loads the developer tools of React if the variable DEV is set.
  if (id.endsWith('/ink/build/reconciler.js'))
    return replaced(code, "process.env['DEV'] === 'true'", 'false');
  // The Postgres driver loads its native version if an environment variable is set.
  if (id.endsWith('/pg/lib/native/client.js'))
    return replaced(code, "require('pg-native')", 'null');
  return undefined;
}

/**
 * Removes two steps that each take a tenth of the start time. Ink's layout engine calls `fetch` for
 * bytes that it already has, which loads Node's whole HTTP client. The package string-width
 * compiles a pattern for 20 ms, although only emoji need this pattern.
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
      `Cannot find ${from} in a dependency: adapt scripts/bundle-cli.ts to its new version`,
    );
  return code.replaceAll(from, () => to);
}
