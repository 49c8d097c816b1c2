import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { knownLanguages } from '../apps/cli/src/text/code/languages.ts';
import { moveToScript, scriptRunner } from './bundle-scripts.ts';
import { noticeFile, thirdPartyNotices } from './third-party.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const cli = join(root, 'apps/cli');
/**
 * The folder of the bundle. It is next to `src` and `dist`, so that the path to package.json is the
 * same for all three.
 */
const folder = process.argv[2] ?? join(cli, 'bundle');
const processModule = '\0/global-process.js';
/** Characters that are a grapheme and one cell wide (see apps/cli/src/text/cells/cell-width.ts). */
const narrow =
  '\\u0020-\\u007E\\u00a1-\\u00ac\\u00ae-\\u02ff\\u2010-\\u2027\\u2190-\\u21ff\\u2500-\\u257f';

/**
 * Bundles the command into a few files. Without a bundle, Node must find, open and link more than a
 * thousand files. This takes more than half of the start time.
 */
const bundle = await rolldown({
  input: {
    main: join(cli, 'src/main.ts'),
    [scriptRunner]: join(cli, 'src/compiled-scripts.ts'),
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
  checks: { ineffectiveDynamicImport: false },
  // Ink imports this package only when developers work on Ink itself.
  external: ['react-devtools-core'],
  plugins: [
    { name: 'quick-start', transform: quickStart },
    { name: 'process', resolveId: resolveProcess, load: loadProcess },
    { name: 'own-modules', transform: ownModules },
  ],
});
rmSync(folder, { recursive: true, force: true });
const { output } = await bundle.write({
  dir: folder,
  chunkFileNames: '[name]-[hash].js',
  codeSplitting: { groups: startGroups() },
  comments: false,
});
await bundle.close();
// The file `version` is small, and `--version` must not load the runner of scripts.
const scripts: readonly string[] = startGroups().map(({ name }) => name);
for (const one of output)
  if (one.type === 'chunk' && one.name !== 'version' && scripts.includes(one.name))
    moveToScript(join(folder, one.fileName));
const modules = output.flatMap((one) => (one.type === 'chunk' ? one.moduleIds : []));
writeFileSync(join(folder, noticeFile), thirdPartyNotices([...modules, ...copyGrammars()]));

/**
 * Returns the files that a start of the chat loads. Each file contains its modules and all modules
 * that these import, without the modules of the files above it. Without these groups, a start loads
 * 200 files, because each set of commands that share a module gets a file.
 */
function startGroups() {
  const files = [
    ['version', ['global-process', 'package-files', 'make-folder']],
    // The modules of the search worker. The worker does not load the other files.
    [
      'search',
      ['search/progress-cell', 'worker/file-searcher', 'worker/grep-file', 'worker/searched-files'],
    ],
    ['command', ['command/run-process']],
    [
      'agent',
      [
        'command/run-agent',
        'command/tracing',
        'models/choose-model',
        'agent/build-agent',
        'store/open-store',
        'log/src/sqlite/index',
      ],
    ],
    ['chat', ['chat/run-chat', 'chat/chat-in-terminal']],
  ] as const;
  return files.map(([name, modules], index) => ({
    ...{ name, priority: files.length - index },
    test: (id: string) => modules.some((path) => new RegExp(`/${path}\\.[jt]sx?$`).test(id)),
  }));
}

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
 * Removes steps that together take a third of the start time. Ink's layout engine calls `fetch` for
 * bytes that it already has, which loads Node's whole HTTP client. The package string-width
 * compiles a pattern for 20 ms, although only emoji need this pattern. The first `Intl.Segmenter`
 * takes 6 ms, and the first screen needs none.
 */
function quickStart(code: string, id: string): string | undefined {
  if (id.endsWith('/yoga-wasm-base64-esm.js')) {
    return replaced(code, 'typeof fetch', 'typeof undefined');
  }
  if (/\/string-width\/index\.js$/.test(id)) return withLazySegmenter(quickWidth(code));
  return code.includes('new Intl.Segmenter') ? withLazySegmenter(code) : undefined;
}

/**
 * Creates the segmenter of a module when a text needs it. A module that only reads the segments in
 * order gets those of a simple text without a segmenter.
 */
function withLazySegmenter(code: string): string {
  const readsInOrder = !code.includes('.containing(');
  const plain = `const plainText = /^[\\u001b${narrow}]*$/;
function* plainSegments(text) {
  for (let index = 0; index < text.length; index++) yield { segment: text[index], index };
}`;
  return code.replace(
    /^const (\w+) = (new Intl\.Segmenter\([^()]*\));$/m,
    (_, name, create) => `let segmenterOfModule;
${readsInOrder ? plain : ''}
const ${name} = {
  segment: (text) => ${readsInOrder ? 'plainText.test(text) ? plainSegments(text) : ' : ''}
    (segmenterOfModule ??= ${create}).segment(text),
};`,
  );
}

function quickWidth(code: string): string {
  // Every emoji that the pattern matches has a character of this kind.
  const isPossible = '/\\p{Emoji_Presentation}|\\ufe0f/u.test(text)';
  const lazy = `test: (text) => ${isPossible} && (rgi ??= /^\\p{RGI_Emoji}$/v).test(text)`;
  const pattern = 'const rgiEmojiRegex = /^\\p{RGI_Emoji}$/v;';
  const withLazy = replaced(code, pattern, `let rgi;\nconst rgiEmojiRegex = { ${lazy} };`);
  const isNarrow = `(ambiguousIsNarrow ? /^[${narrow}]*$/ : /^[\\u0020-\\u007E]*$/).test(string)`;
  return replaced(withLazy, '/^[\\u0020-\\u007E]*$/.test(string)', isNarrow);
}

/**
 * Replaces the module `node:process` by the global object. Node creates the named exports of this
 * module from all its properties, and the list of Node's flags among them takes 8 ms.
 */
function resolveProcess(id: string): string | undefined {
  return id === 'node:process' ? processModule : undefined;
}

function loadProcess(id: string): string | undefined {
  if (id !== processModule) return undefined;
  return 'export default globalThis.process;\nexport const { cwd, env } = globalThis.process;\n';
}

function replaced(code: string, from: string, to: string): string {
  if (!code.includes(from))
    throw new Error(
      `Cannot find ${from} in a dependency: adapt scripts/bundle-cli.ts to its new version`,
    );
  return code.replaceAll(from, () => to);
}
